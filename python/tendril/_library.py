# SPDX-License-Identifier: Apache-2.0
"""The C library as Python sees it: structures, functions, errors.

Nothing here is for users of the package. Structures mirror ``tendril/tendril.h`` field by field; a test
compares each offset with what a C compiler makes of the header.
"""
from __future__ import annotations

import ctypes as c
import logging
import os
import signal
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

SONAME = "libtendril.so.0.2"
TD_STAGES = 9

log = logging.getLogger("tendril")


# ---------------------------------------------------------------- errors


class Error(Exception):
    """What the library could not do: where, why, and what to do about it.

    ``file``, ``line`` and ``field`` say where in a scene or table it is, as far as that applies
    ("" and 0: it does not); ``message`` is the reason and the way out.
    """

    def __init__(self, message: str, file: str = "", line: int = 0, field: str = "") -> None:
        self.message, self.file, self.line, self.field = message, file, line, field
        place = f"{file}:{line}: " if file and line else f"{file}: " if file else ""
        super().__init__(f"{place}{field + ': ' if field else ''}{message}")

    def __reduce__(self) -> Any:
        return type(self), (self.message, self.file, self.line, self.field)


class UsageError(Error, ValueError):
    """The call makes no sense."""


class InputError(Error, ValueError):
    """A file, a scene or a value is wrong."""


class NumericError(Error, ArithmeticError):
    """The numbers failed; the state is what it was before the call."""


class OutOfMemory(Error, MemoryError):
    """There is not enough memory."""


class FileError(Error):
    """The system refused to read or write."""


class Cancelled(Error):
    """The caller ended it."""


CANCELLED = 130
_ERRORS = {2: UsageError, 3: InputError, 4: NumericError, 5: OutOfMemory, 6: FileError, 130: Cancelled}


class Held:
    """What has memory of the library behind it. Its number means nothing in another process, and two that have the same
    would both give it back: it is neither pickled nor copied as other objects are."""

    _instead = ""

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TypeError(f"a tendril.{type(self).__name__} can be neither pickled nor copied{self._instead}")


# ---------------------------------------------------------------- structures


class tdError(c.Structure):
    _fields_ = [
        ("status", c.c_int),
        ("line", c.c_int),
        ("file", c.c_char * 256),
        ("field", c.c_char * 128),
        ("message", c.c_char * 640),
    ]

    def exception(self, status: int | None = None) -> Error:
        kind = _ERRORS.get(self.status if status is None else status, Error)
        text = [getattr(self, name).decode(errors="replace") for name in ("message", "file", "field")]
        return kind(text[0] or "no reason was given", text[1], self.line, text[2])


LogFn = c.CFUNCTYPE(None, c.c_void_p, c.c_int, c.c_char_p)
CancelFn = c.CFUNCTYPE(c.c_bool, c.c_void_p)
ProgressFn = c.CFUNCTYPE(c.c_bool, c.c_void_p, c.c_char_p, c.c_int64, c.c_int64)


class tdSettings(c.Structure):
    _fields_ = [
        ("threads", c.c_int),
        ("portable", c.c_bool),
        ("rom", c.c_char_p),
        ("rom_whole", c.c_bool),
        ("rom_precision", c.c_int),
        ("packages", c.c_char_p),
        ("log", LogFn),
        ("log_user", c.c_void_p),
        ("level", c.c_int),
        ("cancel", CancelFn),
        ("cancel_user", c.c_void_p),
        ("full_order", c.c_bool),
        ("text", c.c_char_p),
        ("device", c.c_int),
        ("gpu", c.c_char_p),
        ("set", c.c_char_p),
    ]


class tdActuatorInfo(c.Structure):
    _fields_ = [
        ("name", c.c_char_p),
        ("kind", c.c_char_p),
        ("drive", c.c_char_p),
        ("effort_unit", c.c_char_p),
        ("displacement_unit", c.c_char_p),
        ("input", c.c_int),
        ("driven", c.c_bool),
        ("effort", c.c_double * 2),
        ("displacement", c.c_double * 2),
        ("gas", c.c_double * 2),
        ("effort_rate", c.c_double),
        ("displacement_rate", c.c_double),
        ("tool", c.c_int),
    ]


class tdEffectorInfo(c.Structure):
    _fields_ = [("name", c.c_char_p), ("kind", c.c_char_p), ("unit", c.c_char_p), ("rows", c.c_int)]


class tdToolInfo(c.Structure):
    _fields_ = [
        ("name", c.c_char_p),
        ("body", c.c_int),
        ("link", c.c_char_p),
        ("input", c.c_int),
        ("joints", c.c_int),
        ("length", c.c_double),
        ("speed", c.c_double),
        ("turning", c.c_double),
    ]


class tdJointInfo(c.Structure):
    _fields_ = [("name", c.c_char_p), ("link", c.c_char_p), ("slides", c.c_bool), ("start", c.c_double)]


class tdActuation(c.Structure):
    _fields_ = [
        ("effort", c.c_double),
        ("displacement", c.c_double),
        ("effort_bound", c.c_int),
        ("displacement_bound", c.c_int),
    ]


class tdToolState(c.Structure):
    _fields_ = [
        ("driven", c.c_bool),
        ("twist", c.c_double * 6),
        ("target", c.c_double * 3),
        ("target_rotation", c.c_double * 9),
        ("command", c.c_double * 3),
        ("command_rotation", c.c_double * 9),
        ("position", c.c_double * 3),
        ("rotation", c.c_double * 9),
        ("error", c.c_double * 6),
        ("miss", c.c_double * 6),
        ("at_limits", c.c_int),
    ]


class tdSpring(c.Structure):
    _fields_ = [
        ("body", c.c_int),
        ("nodes", c.c_int32 * 3),
        ("weights", c.c_double * 3),
        ("anchor", c.c_double * 3),
        ("stiffness", c.c_double),
    ]


class tdReport(c.Structure):
    _fields_ = [
        ("status", c.c_int),
        ("error", tdError),
        ("newton_iterations", c.c_int),
        ("line_search_steps", c.c_int),
        ("load_steps", c.c_int),
        ("load_cuts", c.c_int),
        ("cg_iterations", c.c_int),
        ("factorizations", c.c_int),
        ("projected_elements", c.c_int),
        ("inverted_elements", c.c_int),
        ("extended_elements", c.c_int),
        ("residual", c.c_double),
        ("constraint_error", c.c_double),
        ("inverse", c.c_bool),
        ("inverse_iterations", c.c_int),
        ("inverse_limit", c.c_bool),
        ("out_of_reach", c.c_bool),
        ("inverse_residual", c.c_double),
        ("bound_violation", c.c_double),
        ("active_bounds", c.c_int),
        ("inverse_seconds", c.c_double),
        ("inverse_optimality", c.c_double),
        ("inverse_end", c.c_int),
        ("inverse_steps", c.c_int),
        ("contact_blocks", c.c_bool),
        ("blocking_body", c.c_int * 2),
        ("blocking_point", c.c_double * 3),
        ("rom_indicator", c.c_double),
        ("rom_error", c.c_double),
        ("rom_distance", c.c_double),
        ("rom_local", c.c_double),
        ("rom_warning", c.c_bool),
        ("contacts", c.c_int),
        ("constraints", c.c_int),
        ("contacts_active", c.c_int),
        ("asleep", c.c_int),
        ("contact_iterations", c.c_int),
        ("contact_residual", c.c_double),
        ("contact_limit", c.c_bool),
        ("penetration", c.c_double),
        ("penetration_ratio", c.c_double),
        ("penetration_body", c.c_int * 2),
        ("penetration_found", c.c_double),
        ("penetration_found_body", c.c_int * 2),
        ("tunnelled", c.c_int),
        ("attachment_error", c.c_double),
        ("energy", c.c_double),
        ("work", c.c_double),
        ("dissipated", c.c_double),
        ("energy_gain", c.c_double),
        ("linearization_error", c.c_double),
        ("retries", c.c_int),
        ("doubts", c.c_uint),
        ("doubt_body", c.c_int),
        ("stage_seconds", c.c_double * TD_STAGES),
    ]


class tdContactPoint(c.Structure):
    _fields_ = [
        ("body", c.c_int * 2),
        ("link", c.c_int * 2),
        ("key", c.c_uint64),
        ("position", c.c_double * 3),
        ("normal", c.c_double * 3),
        ("distance", c.c_double),
        ("force", c.c_double * 3),
        ("slip", c.c_double * 3),
        ("torque", c.c_double * 3),
    ]


class tdSensorInfo(c.Structure):
    _fields_ = [
        ("name", c.c_char_p),
        ("kind", c.c_char_p),
        ("body", c.c_int),
        ("link", c.c_int),
        ("values", c.c_int),
        ("columns", c.c_char_p * 6),
        ("units", c.c_char_p * 6),
    ]


class tdOutputInfo(c.Structure):
    _fields_ = [("name", c.c_char_p), ("unit", c.c_char_p), ("first", c.c_int64), ("count", c.c_int64)]


class tdSpan(c.Structure):
    _fields_ = [("data", c.c_void_p), ("robot", c.c_int64), ("time", c.c_int64), ("number", c.c_int64)]


class tdRollout(c.Structure):
    _fields_ = [
        ("rows", c.c_int),
        ("hold", c.c_int),
        ("inputs", tdSpan),
        ("outputs", tdSpan),
        ("mask", c.c_void_p),
        ("status", c.c_void_p),
        ("steps", c.c_void_p),
        ("on_device", c.c_bool),
    ]


class tdControlSettings(c.Structure):
    _fields_ = [("gain", c.c_double), ("limit", c.c_double), ("delay", c.c_double)]


class tdReductionSettings(c.Structure):
    _fields_ = [
        ("body", c.c_char_p),
        ("work", c.c_char_p),
        ("restart", c.c_bool),
        ("pod_tolerance", c.c_double),
        ("ecsw_tolerance", c.c_double),
        ("max_modes", c.c_int),
        ("accept", c.c_bool),
        ("progress", ProgressFn),
        ("user", c.c_void_p),
    ]


class tdReduction(c.Structure):
    _fields_ = [
        ("stopped", c.c_bool),
        ("modes", c.c_int),
        ("snapshots", c.c_int64),
        ("failures", c.c_int64),
        ("elements", c.c_int64),
        ("rid_elements", c.c_int64),
        ("pod_error", c.c_double),
        ("ecsw_error", c.c_double),
        ("held_out_error", c.c_double),
        ("held_out_worst", c.c_double),
        ("held_out_places", c.c_int64),
        ("motion_error", c.c_double),
        ("motion_worst", c.c_double),
        ("seconds", c.c_double),
    ]


class tdRarely(c.Structure):
    _fields_ = [
        ("cancel", CancelFn),
        ("user", c.c_void_p),
        ("period", c.c_double),
        ("thread", c.c_uint64),
        ("last", c.c_double),
    ]


class tdCompareSettings(c.Structure):
    _fields_ = [
        ("rom", c.c_char_p),
        ("coarse", c.c_char_p),
        ("n_others", c.c_int),
        ("others", c.POINTER(c.c_char_p)),
        ("no_whole", c.c_bool),
        ("steps", c.c_int64),
        ("progress", ProgressFn),
        ("user", c.c_void_p),
    ]


class tdComparisonInfo(c.Structure):
    _fields_ = [
        ("motion", c.c_char_p),
        ("steps", c.c_int64),
        ("time_step", c.c_double),
        ("models", c.c_int),
        ("errors", c.c_int),
        ("stopped", c.c_bool),
    ]


class tdComparedInfo(c.Structure):
    _fields_ = [
        ("name", c.c_char_p),
        ("file", c.c_char_p),
        ("kind", c.c_int),
        ("modes", c.c_int),
        ("elements", c.c_int64),
        ("unknowns", c.c_int64),
        ("steps", c.c_int64),
        ("failure", c.POINTER(tdError)),
        ("worst_step", c.c_int64),
        ("rate", c.c_double),
        ("warnings", c.c_int64),
        ("indicator", c.c_double),
        ("foretold", c.c_double),
        ("distance", c.c_double),
    ]


class tdTrackingInfo(c.Structure):
    _fields_ = [
        ("effectors", c.c_int),
        ("steps", c.c_int64),
        ("out_of_reach", c.c_int64),
        ("limited", c.c_int64),
        ("blocked", c.c_int64),
        ("stopped", c.c_int64),
        ("solve", c.c_double * 4),
        ("step", c.c_double * 4),
    ]


class tdTrackingError(c.Structure):
    _fields_ = [
        ("effector", c.c_int),
        ("mean", c.c_double),
        ("max", c.c_double),
        ("rms", c.c_double),
        ("settled", c.c_int64),
        ("settled_mean", c.c_double),
        ("settled_max", c.c_double),
    ]


class tdSweepSettings(c.Structure):
    _fields_ = [
        ("inputs", c.c_char_p),
        ("out", c.c_char_p),
        ("n_outputs", c.c_int),
        ("outputs", c.POINTER(c.c_char_p)),
        ("hold", c.c_int),
        ("restart", c.c_bool),
        ("progress", ProgressFn),
        ("user", c.c_void_p),
    ]


class tdSweep(c.Structure):
    _fields_ = [
        ("stopped", c.c_bool),
        ("resumed", c.c_bool),
        ("robots", c.c_int64),
        ("rows", c.c_int64),
        ("steps", c.c_int64),
        ("failed", c.c_int64),
        ("seconds", c.c_double),
    ]


class tdWorkspaceSettings(c.Structure):
    _fields_ = [
        ("samples", c.c_int64),
        ("grid", c.c_int),
        ("effector", c.c_char_p),
        ("progress", ProgressFn),
        ("user", c.c_void_p),
    ]


class tdWorkspaceInfo(c.Structure):
    _fields_ = [
        ("axes", c.c_int),
        ("actuators", c.c_int),
        ("values", c.c_int),
        ("places", c.c_int64),
        ("reached", c.c_int64),
        ("failed", c.c_int64),
        ("failure", c.POINTER(tdError)),
        ("stopped", c.c_bool),
        ("seconds", c.c_double),
    ]


class tdEstimateSettings(c.Structure):
    _fields_ = [
        ("body", c.c_char_p),
        ("measured", c.c_char_p),
        ("n", c.c_int),
        ("rest", c.c_void_p),
        ("position", c.c_void_p),
        ("noise", c.c_double),
        ("progress", ProgressFn),
        ("user", c.c_void_p),
    ]


class tdLoadsInfo(c.Structure):
    _fields_ = [
        ("loads", c.c_int),
        ("points", c.c_int),
        ("residual", c.c_double),
        ("sigma", c.c_double),
        ("equilibria", c.c_int),
        ("seconds", c.c_double),
    ]


class tdLoadInfo(c.Structure):
    _fields_ = [
        ("name", c.c_char_p),
        ("unit", c.c_char_p),
        ("effort", c.c_double),
        ("deviation", c.c_double),
        ("limited", c.c_bool),
    ]


class tdFitsSettings(c.Structure):
    _fields_ = [
        ("data", c.c_char_p),
        ("n", c.c_int),
        ("modes", c.POINTER(c.c_char_p)),
        ("stretch", c.c_void_p),
        ("stress", c.c_void_p),
        ("mode", c.c_char_p),
        ("law", c.c_char_p),
        ("terms", c.c_int),
        ("poisson", c.c_double),
        ("relative", c.c_bool),
        ("progress", ProgressFn),
        ("user", c.c_void_p),
    ]


class tdFittedInfo(c.Structure):
    _fields_ = [
        ("name", c.c_char_p),
        ("law", c.c_char_p),
        ("terms", c.c_int),
        ("reason", c.POINTER(tdError)),
        ("parameters", c.c_int),
        ("r2", c.c_double),
        ("rms", c.c_double),
        ("worst", c.c_double),
        ("aic", c.c_double),
        ("young", c.c_double),
        ("poisson", c.c_double),
        ("volume_error", c.c_double),
        ("converged", c.c_bool),
        ("iterations", c.c_int),
        ("remarks", c.c_int),
        ("material", c.c_char_p),
    ]


class tdFittedParameter(c.Structure):
    _fields_ = [
        ("name", c.c_char_p),
        ("modulus", c.c_bool),
        ("value", c.c_double),
        ("half", c.c_double),
        ("at_bound", c.c_bool),
    ]


class tdPictureSettings(c.Structure):
    _fields_ = [
        ("width", c.c_int),
        ("height", c.c_int),
        ("supersample", c.c_int),
        ("azimuth", c.c_double),
        ("elevation", c.c_double),
        ("zoom", c.c_double),
        ("up", c.c_int),
        ("parallel", c.c_bool),
        ("opacity", c.c_double),
        ("background", c.c_char_p),
        ("title", c.c_char_p),
        ("marks", c.c_bool),
        ("probes", c.c_bool),
        ("supports", c.c_bool),
        ("edges", c.c_bool),
        ("shadow", c.c_bool),
        ("axes", c.c_bool),
        ("key", c.c_bool),
    ]


#: All structures, for the test of their layout.
STRUCTURES = [
    tdError, tdSettings, tdActuatorInfo, tdEffectorInfo, tdToolInfo, tdJointInfo, tdActuation, tdToolState, tdSpring,
    tdReport, tdContactPoint, tdSensorInfo, tdOutputInfo, tdSpan, tdRollout, tdControlSettings, tdReductionSettings, tdReduction,
    tdRarely, tdCompareSettings, tdComparisonInfo, tdComparedInfo, tdTrackingInfo, tdTrackingError,
    tdSweepSettings, tdSweep, tdWorkspaceSettings, tdWorkspaceInfo,
    tdEstimateSettings, tdLoadsInfo, tdLoadInfo, tdFitsSettings, tdFittedInfo, tdFittedParameter,
    tdPictureSettings,
]  # fmt: skip


# ---------------------------------------------------------------- functions


def _load() -> c.CDLL:
    named = os.environ.get("TENDRIL_LIBRARY")
    here = Path(__file__).with_name(SONAME)
    tried = [named] if named else [str(here)] * here.exists() + [SONAME]
    for path in tried:
        try:
            return c.CDLL(path)
        except OSError as error:
            why = error
    raise ImportError(
        f"the library of Tendril cannot be loaded: {why}. 'make python' installs it with this package; or set "
        "TENDRIL_LIBRARY to the path of libtendril.so"
    )


lib = _load()
_P, _I, _L, _D, _S, _E = c.c_void_p, c.c_int, c.c_int64, c.c_double, c.c_char_p, c.POINTER(tdError)

_FUNCTIONS = {
    "td_version": (_S,),
    "td_status_name": (_S, _I),
    "td_stage_name": (_S, _I),
    "td_doubt_name": (_S, _I),
    "td_parameter_name": (_S, _I),
    "td_default_settings": (tdSettings,),
    "td_model_load": (_I, _S, c.POINTER(tdSettings), c.POINTER(_P), _E),
    "td_model_parse": (_I, _S, c.c_size_t, _S, _S, c.POINTER(tdSettings), c.POINTER(_P), _E),
    "td_model_free": (None, _P),
    "td_model_bodies": (_I, _P),
    "td_model_body_name": (_S, _P, _I),
    "td_model_body_nodes": (_I, _P, _I),
    "td_model_body_elements": (_I, _P, _I),
    "td_model_body_kind": (_S, _P, _I),
    "td_model_body_coords": (_L, _P, _I),
    "td_model_body_turns": (_I, _P, _I),
    "td_model_body_mass": (_D, _P, _I),
    "td_model_body_rest": (_P, _P, _I),
    "td_model_body_triangles": (_L, _P, _I, c.POINTER(_P)),
    "td_model_dofs": (_L, _P),
    "td_model_time_step": (_D, _P),
    "td_model_steps": (_I, _P),
    "td_model_size": (_D, _P),
    "td_model_probes": (_I, _P),
    "td_model_probe_name": (_S, _P, _I),
    "td_model_inputs": (_I, _P),
    "td_model_input_name": (_S, _P, _I),
    "td_model_actuators": (_I, _P),
    "td_model_actuator": (tdActuatorInfo, _P, _I),
    "td_model_effectors": (_I, _P),
    "td_model_effector": (tdEffectorInfo, _P, _I),
    "td_model_tools": (_I, _P),
    "td_model_tool": (tdToolInfo, _P, _I),
    "td_model_joints": (_I, _P, _I),
    "td_model_joint": (tdJointInfo, _P, _I, _I),
    "td_model_attachments": (_I, _P),
    "td_model_attachment_name": (_S, _P, _I),
    "td_model_couplings": (_I, _P),
    "td_model_coupling_name": (_S, _P, _I),
    "td_state_create": (_I, _P, c.POINTER(tdSettings), c.POINTER(_P), _E),
    "td_state_free": (None, _P),
    "td_step": (_I, _P, _P),
    "td_state_time": (_D, _P),
    "td_state_steps": (_L, _P),
    "td_state_positions": (_P, _P, _P, _I),
    "td_state_velocities": (_P, _P, _P, _I),
    "td_state_probe": (None, _P, _P, _I, _P),
    "td_state_reaction": (None, _P, _P, _I, _P),
    "td_state_set_input": (_I, _P, _P, _I, _D),
    "td_state_input": (_D, _P, _P, _I),
    "td_state_actuation": (tdActuation, _P, _P, _I),
    "td_state_effector": (None, _P, _P, _I, _P),
    "td_state_target": (c.c_bool, _P, _P, _I, _P),
    "td_state_set_target": (_I, _P, _P, _I, _P),
    "td_state_tool": (tdToolState, _P, _P, _I),
    "td_state_drive_tool": (_I, _P, _P, _I, _P),
    "td_state_set_spring": (_I, _P, _P, _I, c.POINTER(tdSpring)),
    "td_state_report": (c.POINTER(tdReport), _P),
    "td_state_contacts": (_L, _P, c.POINTER(_P)),
    "td_state_contact_force": (None, _P, _I, _I, _P),
    "td_state_contact_wrench": (None, _P, _I, _I, _P, _P, _P),
    "td_state_attachment_force": (None, _P, _I, _P, _P, _P),
    "td_state_coupling_effort": (_D, _P, _I),
    "td_model_sensors": (_I, _P),
    "td_model_sensor": (tdSensorInfo, _P, _I),
    "td_state_sensor": (_I, _P, _P, _I, _P),
    "td_state_energy": (None, _P, _P, _P, _P),
    "td_state_save": (_I, _P, _P, _S, _E),
    "td_state_load": (_I, _P, _P, _S, _E),
    "td_state_hash": (c.c_uint64, _P, _P),
    "td_state_copy": (_I, _P, _P, _P, _E),
    "td_state_size": (c.c_size_t, _P, _P),
    "td_state_write": (_I, _P, _P, _P, c.c_size_t, _E),
    "td_state_read": (_I, _P, _P, _P, c.c_size_t, _E),
    "td_state_reset": (_I, _P, _P, _E),
    "td_state_coords": (_P, _P, _P, _I),
    "td_state_rates": (_P, _P, _P, _I),
    "td_state_turns": (_P, _P, _P, _I),
    "td_state_set_coords": (_I, _P, _P, _I, _P, _P, _P, _E),
    "td_state_joint": (None, _P, _P, _I, _I, _P, _P),
    "td_state_set_joints": (_I, _P, _P, _I, _P, _P, _E),
    "td_state_set_parameter": (_I, _P, _P, _I, _I, _D, _E),
    "td_state_parameter": (_D, _P, _P, _I, _I),
    "td_outputs_create": (_I, _P, _I, c.POINTER(_S), c.POINTER(_P), _E),
    "td_outputs_free": (None, _P),
    "td_outputs_count": (_I, _P),
    "td_outputs_width": (_L, _P),
    "td_outputs_info": (tdOutputInfo, _P, _I),
    "td_outputs_read": (None, _P, _P, _P, _P, _L),
    "td_batch_create": (_I, _P, c.POINTER(tdSettings), _I, c.POINTER(_P), _E),
    "td_batch_free": (None, _P),
    "td_batch_state": (_P, _P, _I),
    "td_batch_error": (_E, _P, _I),
    "td_batch_choose_inputs": (_I, _P, _I, c.POINTER(_I), _E),
    "td_batch_choose_outputs": (_I, _P, _I, c.POINTER(_S), _E),
    "td_batch_outputs": (_P, _P),
    "td_batch_reset": (_I, _P, _P, _E),
    "td_batch_set_parameter": (_I, _P, _I, _I, _P, _L, _P, _E),
    "td_batch_set_delay": (_I, _P, _P, _L, _P, _E),
    "td_batch_write": (_I, _P, _P, c.c_size_t, _P, _E),
    "td_batch_read": (_I, _P, _P, c.c_size_t, _P, _E),
    "td_batch_rollout": (_I, _P, c.POINTER(tdRollout), _E),
    "td_batch_read_outputs": (_I, _P, c.POINTER(tdSpan), _P, _E),
    "td_default_control": (tdControlSettings, _P),
    "td_control_create": (_I, _P, c.POINTER(tdControlSettings), c.POINTER(_P), _E),
    "td_control_free": (None, _P),
    "td_control_load_goals": (_I, _P, _P, _S, _E),
    "td_control_load_measurements": (_I, _P, _P, _S, _E),
    "td_control_duration": (_D, _P),
    "td_control_set_goal": (_I, _P, _I, _P),
    "td_control_goal": (c.c_bool, _P, _I, _D, _P),
    "td_control_measure": (_I, _P, _I, _P),
    "td_control_step": (_I, _P, _P, _P),
    "td_control_correction": (None, _P, _I, _P),
    "td_default_reduction": (tdReductionSettings,),
    "td_model_reduce": (_I, _S, _S, c.POINTER(tdReductionSettings), c.POINTER(tdSettings), c.POINTER(tdReduction), _E),
    "td_default_compare": (tdCompareSettings,),
    "td_compare": (_I, _S, c.POINTER(tdCompareSettings), c.POINTER(tdSettings), c.POINTER(_P), _E),
    "td_comparison_free": (None, _P),
    "td_comparison_info": (tdComparisonInfo, _P),
    "td_comparison_model": (tdComparedInfo, _P, _I),
    "td_comparison_error_name": (_S, _P, _I),
    "td_comparison_amplitude": (_D, _P, _I),
    "td_comparison_error": (None, _P, _I, _I, c.POINTER(_D), c.POINTER(_D)),
    "td_comparison_errors": (_P, _P, _I),
    "td_comparison_paths": (_P, _P, _I),
    "td_comparison_write": (_I, _P, _S, _E),
    "td_comparison_report": (_I, _P, _S, _E),
    "td_tracking_create": (_I, _P, _P, _S, c.c_bool, c.POINTER(_P), _E),
    "td_tracking_free": (None, _P),
    "td_tracking_add": (_I, _P, _P, _D, _E),
    "td_tracking_finish": (_I, _P, _E),
    "td_tracking_info": (tdTrackingInfo, _P),
    "td_tracking_error": (tdTrackingError, _P, _I, c.c_bool),
    "td_tracking_report": (_I, _P, _S, c.c_bool, _S, _E),
    "td_default_sweep": (tdSweepSettings,),
    "td_sweep_run": (_I, _S, c.POINTER(tdSweepSettings), c.POINTER(tdSettings), c.POINTER(tdSweep), _E),
    "td_default_workspace": (tdWorkspaceSettings,),
    "td_workspace_explore": (_I, _S, c.POINTER(tdWorkspaceSettings), c.POINTER(tdSettings), c.POINTER(_P), _E),
    "td_workspace_free": (None, _P),
    "td_workspace_info": (tdWorkspaceInfo, _P),
    "td_workspace_model": (_P, _P),
    "td_workspace_points": (_P, _P),
    "td_workspace_at_rest": (_P, _P),
    "td_workspace_actuation": (None, _P, _L, _P),
    "td_workspace_write": (_I, _P, _S, _E),
    "td_default_estimate": (tdEstimateSettings,),
    "td_loads_estimate": (_I, _S, c.POINTER(tdEstimateSettings), c.POINTER(tdSettings), c.POINTER(_P), _E),
    "td_loads_free": (None, _P),
    "td_loads_info": (tdLoadsInfo, _P),
    "td_loads_load": (tdLoadInfo, _P, _I),
    "td_loads_fitted": (_P, _P),
    "td_loads_write": (_I, _P, _S, _E),
    "td_default_fits": (tdFitsSettings,),
    "td_fits_make": (_I, c.POINTER(tdFitsSettings), c.POINTER(_P), _E),
    "td_fits_free": (None, _P),
    "td_fits_points": (_I, _P),
    "td_fits_laws": (_I, _P),
    "td_fits_law": (tdFittedInfo, _P, _I),
    "td_fits_parameter": (tdFittedParameter, _P, _I, _I),
    "td_fits_remark": (_S, _P, _I, _I),
    "td_fits_stable": (c.c_bool, _P, _I, _S, _P),
    "td_fits_stress": (_D, _P, _I, _S, _D),
    "td_fits_plot": (_I, _P, _S, _E),
    "td_default_picture": (tdPictureSettings,),
    "td_state_render": (_I, _P, _P, c.POINTER(tdPictureSettings), _P, _E),
    "td_build_create": (_I, _S, _S, c.POINTER(_P), _E),
    "td_build_free": (None, _P),
    "td_build_text": (_I, _P, _S, _S, _E),
    "td_build_number": (_I, _P, _S, _D, _E),
    "td_build_numbers": (_I, _P, _S, _L, _P, _E),
    "td_build_flag": (_I, _P, _S, c.c_bool, _E),
    "td_build_map": (_I, _P, _S, _E),
    "td_build_list": (_I, _P, _S, _E),
    "td_build_yaml": (_I, _P, _S, _S, _E),
    "td_build_remove": (_I, _P, _S, _E),
    "td_build_count": (_L, _P, _S),
    "td_build_scene": (_I, _P, c.POINTER(_S), _E),
    "td_build_model": (_I, _P, c.POINTER(tdSettings), c.POINTER(_P), _E),
}
for _name, (_result, *_arguments) in _FUNCTIONS.items():
    _function = getattr(lib, _name)
    _function.restype, _function.argtypes = _result, _arguments

#: Parameters of a state, in the order of the C enumeration.
PARAMETERS = tuple(lib.td_parameter_name(k).decode() for k in range(8))


def check(status: int, error: tdError) -> None:
    """Raises what a call that returned ``status`` wrote into ``error``, or what a signal's handler raised in it."""
    if status != 0:
        interrupt(status)
        raise error.exception(status)


@LogFn  # type: ignore[misc]
def _log(_user: Any, level: int, message: bytes) -> None:
    log.log((logging.DEBUG, logging.INFO, logging.WARNING)[level], "%s", message.decode(errors="replace"))


# ---------------------------------------------------------------- Ctrl-C

# Whether SIGINT has come, which it forgets. This is called by the library in place of a function of Python, in which the
# handler would run before its first line, and what it raises would be lost.
_interrupted = c.PYFUNCTYPE(c.c_bool, c.c_void_p)(("PyOS_InterruptOccurred", c.pythonapi))

#: Asks ten times a second, in the main thread alone: only there does Python handle signals.
_rarely = tdRarely(cancel=CancelFn(_interrupted), period=0.1, thread=threading.main_thread().ident or 0)
_cancel = CancelFn(("td_cancel_rarely", lib))


def interrupt(status: int) -> None:
    """Where SIGINT has ended a call, its handler runs now: mostly it raises KeyboardInterrupt."""
    if status == CANCELLED and threading.current_thread() is threading.main_thread():
        signal.raise_signal(signal.SIGINT)


class Watch:
    """Progress of a study as the library calls it. An exception in ``progress``, or Ctrl-C, stops it in order."""

    def __init__(self, progress: Callable[[str, int, int], Any] | None) -> None:
        self._raised: list[BaseException] = []
        self._came: dict[Any, Any] = {}
        self._main = threading.current_thread() is threading.main_thread()

        def tell(_user: Any, phase: bytes, done: int, total: int) -> bool:
            try:
                if progress is not None:
                    progress(phase.decode(), done, total)
                return not self._came
            except BaseException as error:  # noqa: BLE001 - raised again by finish
                self._raised.append(error)
                return False

        self.function = ProgressFn(tell)

    def __enter__(self) -> Watch:
        # Meanwhile a signal is only noted, by a function that is not Python's (see above).
        self._before = signal.getsignal(signal.SIGINT) if self._main else None
        if callable(self._before):  # else it is ignored, or not Python's
            signal.signal(signal.SIGINT, self._came.setdefault)
        return self

    def __exit__(self, *_: Any) -> None:
        if callable(self._before):
            signal.signal(signal.SIGINT, self._before)

    def finish(self, status: int, error: tdError, stopped: bool = False) -> None:
        """Raises what stopped it, or what the library says."""
        if self._raised:
            raise self._raised[0]
        if self._came or (stopped and self._main):
            signal.raise_signal(signal.SIGINT)
        check(status, error)


def settings(threads: int = 0, rom: str | os.PathLike[str] | None = None, portable: bool = False, rom_whole: bool = False,
             packages: str | None = None, full_order: bool = False, quiet: bool = False) -> tdSettings:  # fmt: skip
    """Settings of the library, whose messages go to the logger "tendril" unless they are not wanted."""
    out = lib.td_default_settings()
    out.threads, out.portable, out.rom_whole, out.full_order = int(threads), portable, rom_whole, full_order
    if not quiet:
        out.log = _log
    out.cancel, out.cancel_user = _cancel, c.addressof(_rarely)
    out.rom = os.fsencode(rom) if rom is not None else None
    out.packages = packages.encode() if packages else None
    return out
