// SPDX-License-Identifier: Apache-2.0
#include "output/sensors.h"

#include <stdio.h>

int td_sensor_values(const tdModel *model)
{
    int n = 0;
    for (int i = 0; i < td_model_sensors(model); i++)
        n += td_model_sensor(model, i).values;
    return n;
}

void td_sensor_titles(const tdModel *model, tdText *header)
{
    for (int i = 0; i < td_model_sensors(model); i++)
    {
        tdSensorInfo info = td_model_sensor(model, i);
        for (int k = 0; k < info.values; k++)
        {
            char suffix[32];
            snprintf(suffix, sizeof suffix, ".%s", info.columns[k]);
            td_csv_title(header, info.name, suffix, info.units[k]);
        }
    }
}

void td_sensor_frame(const tdModel *model, const tdState *state, double *values)
{
    for (int i = 0; i < td_model_sensors(model); i++)
    {
        double own[TD_SENSOR_VALUES];
        int n = td_state_sensor(model, state, i, own);
        for (int k = 0; k < n; k++)
            *values++ = own[k];
    }
}
