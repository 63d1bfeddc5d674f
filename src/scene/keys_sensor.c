// SPDX-License-Identifier: Apache-2.0
// Keys of sensors.
#include "describe/scene.h"
#include "scene/schema.h"

#define AREA ((tdDim){2, 0, 0, 0})

static const tdChoice sensor_kinds[] = {
    {"force_torque", TD_SENSOR_WRENCH,
     "force and torque that a joint, also a fixed one, transmits to the link that it carries, about the link's origin "
     "and in its axes; or of an attachment, on its side `a`, along the world's axes",
     NULL},
    {"touch", TD_SENSOR_TOUCH,
     "contact on a link, a soft body, or a patch of either: sum of the normal forces, the resultant (in the "
     "link's axes; of a soft body along the world's), number of points that carry a force, pressure with `area`",
     NULL},
    {"inertial", TD_SENSOR_INERTIAL,
     "acceleration less gravity, as an accelerometer shows it (9.81 m/s^2 upwards at rest), and angular velocity of a "
     "link, both in its axes",
     NULL},
    {"joint", TD_SENSOR_JOINT,
     "position, rate, and effort: what the joint transmits along its axis, of motor, friction, damping and limits "
     "together",
     NULL},
    {0}};

static const tdKey sensor_keys[] = {
    {.name = "name",
     .kind = TD_KEY_NAME,
     .required = true,
     .doc = "unique name; columns are NAME.force_x and the like"},
    {.name = "type", .kind = TD_KEY_CHOICE, .choices = sensor_kinds, .required = true, .doc = "what it measures"},
    {.name = "body", .kind = TD_KEY_NAME, .standard_doc = "none, with `attachment`", .doc = "body that it is on"},
    {.name = "joint",
     .kind = TD_KEY_TEXT,
     .standard_doc = "none",
     .doc = "force_torque: a joint of any kind; joint: one with one coordinate"},
    {.name = "attachment", .kind = TD_KEY_TEXT, .standard_doc = "none", .doc = "force_torque: instead of a joint"},
    {.name = "link",
     .kind = TD_KEY_TEXT,
     .standard_doc = "the only one",
     .doc = "touch and inertial: the link that it is on"},
    {.name = "point",
     .kind = TD_KEY_VECTOR,
     .dim = TD_DIM_LENGTH,
     .standard_doc = "the link's origin",
     .doc = "inertial: the point of the link that is here at the start"},
    {.name = "box",
     .kind = TD_KEY_BOX,
     .dim = TD_DIM_LENGTH,
     .standard_doc = "all of it",
     .doc = "touch: only points within it in the placed rest shape; the patch moves with the body"},
    {.name = "area",
     .kind = TD_KEY_QUANTITY,
     .dim = AREA,
     .range = TD_RANGE_POSITIVE,
     .standard_doc = "no pressure",
     .doc = "touch: of the patch; its pressure is the normal force divided by this"},
    {0},
};
const tdSchema td_schema_sensor = {
    .title = "sensors",
    .doc = "What a robot would measure, averaged over each step: columns of `sensors.csv`, and by `td_state_sensor`. "
           "Sensors change nothing.",
    .example = "sensors:\n"
               "  - {name: wrist, type: force_torque, body: arm, joint: arm_7}\n"
               "  - {name: pad, type: touch, body: hand, link: tip, area: 2 cm^2}\n"
               "  - {name: imu, type: inertial, body: arm, link: flange}\n"
               "  - {name: elbow, type: joint, body: arm, joint: arm_4}",
    .keys = sensor_keys,
};
