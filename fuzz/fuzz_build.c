// SPDX-License-Identifier: Apache-2.0
// Any bytes as a scene that is put together: lines of a letter, a path and a value. What comes out is text that reads
// back as itself.
#include "tendril/study.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool condition)
{
    if (!condition)
        abort();
}

static void put(tdBuild *build, char *line)
{
    tdError error = {0};
    char *path = line + 1, *value = strchr(path, ' ');
    if (value != NULL)
        *value++ = '\0';
    else
        value = path + strlen(path);
    const double numbers[3] = {strtod(value, NULL), 1, -1e-9};
    tdStatus status = TD_OK;
    switch (line[0])
    {
    case 't': status = td_build_text(build, path, value, &error); break;
    case 'n': status = td_build_number(build, path, numbers[0], &error); break;
    case 'v': status = td_build_numbers(build, path, 3, numbers, &error); break;
    case 'f': status = td_build_flag(build, path, value[0] == 'y', &error); break;
    case 'm': status = td_build_map(build, path, &error); break;
    case 'l': status = td_build_list(build, path, &error); break;
    case 'y': status = td_build_yaml(build, path, value, &error); break;
    case 'r': status = td_build_remove(build, path, &error); break;
    default: td_build_count(build, path); break;
    }
    check(status == TD_OK || error.message[0] != '\0');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    tdBuild *build = NULL, *again = NULL;
    tdError error = {0};
    const char *text = NULL, *other = NULL;
    char *lines = malloc(size + 1), *rest = NULL;
    if (lines == NULL)
        return 0;
    memcpy(lines, data, size);
    lines[size] = '\0';
    check(td_build_create("fuzz", NULL, &build, &error) == TD_OK &&
          td_build_create("fuzz", NULL, &again, &error) == TD_OK);
    for (char *line = strtok_r(lines, "\n", &rest); line != NULL; line = strtok_r(NULL, "\n", &rest))
        put(build, line);
    check(td_build_scene(build, &text, &error) == TD_OK);
    // Bytes that are no UTF-8 are refused when the text is read, and so are keys that are given twice in nothing here.
    if (text[0] != '\0' && td_build_yaml(again, "", text, &error) == TD_OK)
    {
        check(td_build_scene(again, &other, &error) == TD_OK);
        check(strcmp(text, other) == 0);
    }
    tdModel *model = NULL;
    tdStatus status = td_build_model(build, NULL, &model, &error);
    check((status == TD_OK) == (model != NULL) && (status == TD_OK || error.message[0] != '\0'));
    td_model_free(model);
    td_build_free(build);
    td_build_free(again);
    free(lines);
    return 0;
}
