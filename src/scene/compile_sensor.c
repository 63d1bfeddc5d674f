// SPDX-License-Identifier: Apache-2.0
// Sensors of the model: where they are on their links, and what each of them tells.
#include "core/parts.h"
#include "scene/compile.h"
#include "step/sensor.h"

#include <math.h>

tdStatus td_compile_sensors(tdModel *model, tdError *error)
{
    const tdScene *scene = &model->scene;
    static const int values[] = {
        [TD_SENSOR_WRENCH] = 6, [TD_SENSOR_TOUCH] = 5, [TD_SENSOR_INERTIAL] = 6, [TD_SENSOR_JOINT] = 3};
    model->sensors = TD_TAKE(&model->arena, tdSensor, scene->n_sensors);
    if (model->sensors == NULL)
        return td_fail_memory(error, "the sensors");
    for (int i = 0; i < scene->n_sensors; i++)
    {
        const tdSceneSensor *given = &scene->sensors[i];
        tdSensor *sensor = &model->sensors[i];
        *sensor = (tdSensor){.given = given, .n = values[given->kind]};
        if (given->kind == TD_SENSOR_TOUCH && !isnan(given->area))
            sensor->n++;
        if (given->kind == TD_SENSOR_JOINT)
        {
            sensor->joint = td_parts_joint(model->bodies[given->body].parts, given->link);
            sensor->axis = scene->bodies[given->body].tree->links[given->link].axis;
        }
        if (given->kind == TD_SENSOR_INERTIAL && given->at_point)
            td_place_back(&model->bodies[given->body].parts->start[given->link], given->point, sensor->local);
        model->n_sensors++;
    }
    return TD_OK;
}
