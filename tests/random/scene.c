// SPDX-License-Identifier: Apache-2.0
#include "scene.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

// ---------------------------------------------------------------- random numbers

uint64_t random_next(uint64_t *seed)
{
    uint64_t z = (*seed += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

double random_between(uint64_t *seed, double low, double high)
{
    return low + (high - low) * ((double)(random_next(seed) >> 11) * 0x1p-53);
}

double random_log(uint64_t *seed, double low, double high)
{
    return low * pow(high / low, random_between(seed, 0, 1));
}

int random_below(uint64_t *seed, int n)
{
    return (int)(random_next(seed) % (uint64_t)n);
}

bool random_chance(uint64_t *seed, double probability)
{
    return random_between(seed, 0, 1) < probability;
}

// ---------------------------------------------------------------- pieces

static char *format_list(const char *format, va_list list) TD_PRINTF(1, 0);
static char *format_list(const char *format, va_list list)
{
    char *text = NULL;
    if (vasprintf(&text, format, list) < 0)
        abort();
    return text;
}

char *format_text(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    char *text = format_list(format, list);
    va_end(list);
    return text;
}

int scene_piece(randomScene *scene, piecePlace place, int owner, const char *tag, const char *format, ...)
{
    if (scene->n == scene->room)
    {
        scene->room = scene->room == 0 ? 32 : 2 * scene->room;
        scene->pieces = realloc(scene->pieces, (size_t)scene->room * sizeof *scene->pieces);
        if (scene->pieces == NULL)
            abort();
    }
    va_list list;
    va_start(list, format);
    scene->pieces[scene->n] = (scenePiece){
        .place = place, .owner = owner, .other = -1, .alive = true, .tag = tag, .text = format_list(format, list)};
    va_end(list);
    return scene->n++;
}

void scene_file_of(randomScene *scene, int piece, const char *name, char *content)
{
    scene->pieces[piece].file = format_text("%s", name);
    scene->pieces[piece].content = content;
}

bool scene_has(const randomScene *scene, int piece)
{
    const scenePiece *p = &scene->pieces[piece];
    return p->alive && (p->owner < 0 || scene_has(scene, p->owner)) && (p->other < 0 || scene_has(scene, p->other));
}

bool scene_has_tag(const randomScene *scene, const char *tag)
{
    for (int i = 0; i < scene->n; i++)
        if (strcmp(scene->pieces[i].tag, tag) == 0 && scene_has(scene, i))
            return true;
    return false;
}

void scene_drop(randomScene *scene)
{
    for (int i = 0; i < scene->n; i++)
    {
        free(scene->pieces[i].text);
        free(scene->pieces[i].file);
        free(scene->pieces[i].content);
    }
    free(scene->pieces);
    *scene = (randomScene){0};
}

// ---------------------------------------------------------------- writing

static void write_item(const randomScene *scene, int item, FILE *out)
{
    fprintf(out, "  - {%s", scene->pieces[item].text);
    for (int i = 0; i < scene->n; i++)
        if (scene->pieces[i].place == PIECE_KEY && scene->pieces[i].owner == item && scene_has(scene, i))
            fprintf(out, ",\n     %s", scene->pieces[i].text);
    fprintf(out, "}\n");
}

static void write_list(const randomScene *scene, piecePlace place, const char *name, FILE *out)
{
    bool first = true;
    for (int i = 0; i < scene->n; i++)
        if (scene->pieces[i].place == place && scene_has(scene, i))
        {
            if (first)
                fprintf(out, "%s:\n", name);
            first = false;
            write_item(scene, i, out);
        }
}

static void write_motion(const randomScene *scene, FILE *out)
{
    bool any = false;
    for (int i = 0; i < scene->n; i++)
        any = any || (scene->pieces[i].place == PIECE_MOTION && scene_has(scene, i));
    if (!any)
        return;
    fprintf(out, "motion:\n  interpolation: %s\n  keyframes:\n", scene->seed % 2 == 0 ? "linear" : "smooth");
    for (int k = 0; k < PIECE_VALUES; k++)
    {
        fprintf(out, "    - {t: %.6g", scene->key_times[k]);
        for (int i = 0; i < scene->n; i++)
            if (scene->pieces[i].place == PIECE_MOTION && scene_has(scene, i))
                fprintf(out, ", %s: %.6g%s", scene->pieces[i].text, scene->pieces[i].values[k],
                        strcmp(scene->pieces[i].tag, "angle") == 0  ? " rad"
                        : strcmp(scene->pieces[i].tag, "rate") == 0 ? " rad/s"
                                                                    : "");
        fprintf(out, "}\n");
    }
}

char *scene_write(const randomScene *scene)
{
    static const struct
    {
        piecePlace place;
        const char *name;
    } lists[] = {{PIECE_BODY, "bodies"},
                 {PIECE_LOAD, "loads"},
                 {PIECE_PROBE, "probes"},
                 {PIECE_ACTUATOR, "actuators"},
                 {PIECE_EFFECTOR, "effectors"},
                 {PIECE_TOOL, "tools"},
                 {PIECE_ATTACHMENT, "attachments"},
                 {PIECE_COUPLING, "couplings"}};
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (out == NULL)
        abort();
    fprintf(out, "tendril: 1\ntime_step: %.6g\nsteps: %d\n", scene->time_step, scene->steps);
    for (int i = 0; i < scene->n; i++)
        if (scene->pieces[i].place == PIECE_TOP && scene_has(scene, i))
            fprintf(out, "%s\n", scene->pieces[i].text);
    for (size_t k = 0; k < sizeof lists / sizeof lists[0]; k++)
        write_list(scene, lists[k].place, lists[k].name, out);
    write_motion(scene, out);
    fclose(out);
    return text;
}

bool scene_write_files(const randomScene *scene, const char *folder)
{
    for (int i = 0; i < scene->n; i++)
    {
        if (scene->pieces[i].file == NULL || !scene_has(scene, i))
            continue;
        char *path = format_text("%s/%s", folder, scene->pieces[i].file);
        FILE *out = fopen(path, "w");
        free(path);
        if (out == NULL)
            return false;
        bool good = fputs(scene->pieces[i].content, out) >= 0;
        if (fclose(out) != 0 || !good)
            return false;
    }
    return true;
}
