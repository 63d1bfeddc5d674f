// SPDX-License-Identifier: Apache-2.0
// From a scene's material to the parameters of a law: engineering constants, matched at small strain, or the
// law's own. One function a law, for the table of law.c; all refuse what is missing, given twice or not physical.
#pragma once
#include "material/law.h"

tdStatus td_parameters_lame(const tdSceneMaterial *material, const char *file, double *parameters, tdError *error);
tdStatus td_parameters_neo_hookean(const tdSceneMaterial *material, const char *file, double *parameters,
                                   tdError *error);
tdStatus td_parameters_mooney_rivlin(const tdSceneMaterial *material, const char *file, double *parameters,
                                     tdError *error);
tdStatus td_parameters_ogden(const tdSceneMaterial *material, const char *file, double *parameters, tdError *error);
tdStatus td_parameters_arruda_boyce(const tdSceneMaterial *material, const char *file, double *parameters,
                                    tdError *error);
tdStatus td_parameters_veronda_westmann(const tdSceneMaterial *material, const char *file, double *parameters,
                                        tdError *error);
tdStatus td_parameters_costa(const tdSceneMaterial *material, const char *file, double *parameters, tdError *error);
