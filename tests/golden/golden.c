// SPDX-License-Identifier: Apache-2.0
// golden: runs the scenes of cases.c and compares them with what was recorded of them (record.c), with each set of
// kernels that this processor has; or the hashes of their states between numbers of threads, reruns and resumes.
//
//     golden                   # compare all cases with their records
//     golden beam gear         # these only
//     golden --bits            # same bits with 1, 2, 3 threads, again, and from a checkpoint
//     golden --record          # write the records anew; shows the largest difference of each from the old one
//     golden --list            # names, scenes, steps
#include "golden.h"

#include "base/isa.h"
#include "tendril/tendril.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct options
{
    bool record, bits, list, quick;
    int n_names;
    char **names;
} options;

static void path_of(const goldenCase *given, char *out, size_t size)
{
    snprintf(out, size, TD_SOURCE_DIR "/tests/golden/recorded/%s.txt", given->name);
}

static bool complain(const goldenCase *given, const tdError *error)
{
    char text[1200];
    td_error_format(error, text, sizeof text);
    printf("%-22s FAILED: %s\n", given->name, text);
    return false;
}

// ---------------------------------------------------------------- records

static bool record_case(const goldenCase *given, const tdModel *model)
{
    char path[1024];
    tdError error = {0};
    goldenRecord is, was;
    path_of(given, path, sizeof path);
    bool known = golden_read(path, &was, &error) == TD_OK;
    tdStatus status = golden_take(given, model, false, &is, &error);
    goldenDifference d = {0};
    if (status == TD_OK && known)
        d = golden_compare(&is, &was);
    if (status == TD_OK)
        status = golden_write(given, &is, path, &error);
    if (status == TD_OK && !known)
        printf("%-22s new\n", given->name);
    else if (status == TD_OK)
        printf("%-22s %-9.2g%s %s\n", given->name, d.share, d.share > GOLDEN_TOLERANCE ? " CHANGED" : "", d.where);
    golden_free(&is);
    golden_free(&was);
    return status == TD_OK || complain(given, &error);
}

static bool compare_case(const goldenCase *given, const tdModel *model)
{
    char path[1024];
    tdError error = {0};
    goldenRecord was, is[2] = {{0}, {0}};
    path_of(given, path, sizeof path);
    tdStatus status = golden_read(path, &was, &error);
    int sets = td_isa_pick(false) == TD_ISA_PORTABLE ? 1 : 2;
    for (int k = 0; k < sets && status == TD_OK; k++)
        status = golden_take(given, model, k == 1 || sets == 1, &is[k], &error);
    bool good = status == TD_OK || complain(given, &error);
    goldenDifference worst = {0};
    for (int k = 0; k < sets && status == TD_OK; k++)
    {
        goldenDifference d = golden_compare(&is[k], &was);
        if (!(d.share <= GOLDEN_TOLERANCE))
        {
            printf("%-22s FAILED: with %s kernels off by %.2g in %s\n", given->name,
                   k == 1 || sets == 1 ? "portable" : "AVX2", d.share, d.where);
            good = false;
        }
        worst = d.share > worst.share ? d : worst;
    }
    if (good)
        printf("%-22s %4d steps, %d set%s of kernels, off by %.2g%s%.*s\n", given->name, is[0].steps, sets,
               sets > 1 ? "s" : "", worst.share, *worst.where != '\0' ? " in " : "", (int)strcspn(worst.where, "["),
               worst.where);
    golden_free(&was);
    golden_free(&is[0]);
    golden_free(&is[1]);
    return good;
}

// ---------------------------------------------------------------- bits

static int bit_steps(const goldenCase *given, const goldenRun *run)
{
    int wanted = given->bits > 0 ? given->bits : 20;
    return wanted < run->steps ? wanted : run->steps;
}

// Hashes after each step; from step `resume` on (0: never) of another state that was read from a checkpoint.
static tdStatus hash_steps(const goldenCase *given, const tdModel *model, int threads, int resume,
                           const char *checkpoint, uint64_t *hash, int *n, tdError *error)
{
    goldenRun run;
    tdStatus status = golden_start(given, model, threads, false, &run, error);
    *n = status == TD_OK ? bit_steps(given, &run) : 0;
    for (int s = 0; s < *n && status == TD_OK; s++)
    {
        if (resume > 0 && s == resume)
        {
            status = td_state_save(run.model, run.state, checkpoint, error);
            if (status == TD_OK)
                status = golden_resume(&run, threads % 3 + 1, checkpoint, error);
            // What was read is what was written, before any step is taken.
            if (status == TD_OK && td_state_hash(run.model, run.state) != hash[s - 1])
                status = td_fail(error, TD_ERROR_NUMERIC, "step %d has other bits once it was saved and loaded", s);
        }
        if (status == TD_OK)
            status = golden_step(&run, error);
        if (status == TD_OK)
            hash[s] = td_state_hash(run.model, run.state);
    }
    golden_end(&run);
    return status;
}

#define MOST_BITS 1000

static bool bits_case(const goldenCase *given, const tdModel *model, const char *checkpoint)
{
    static const struct
    {
        const char *what;
        int threads;
        bool resumed;
    } runs[] = {{"2 threads", 2, false}, {"3 threads", 3, false}, {"another run, resumed half way", 1, true}};
    uint64_t first[MOST_BITS], hash[MOST_BITS];
    tdError error = {0};
    int n = 0, m = 0;
    tdStatus status = hash_steps(given, model, 1, 0, checkpoint, first, &n, &error);
    bool good = true;
    for (size_t r = 0; r < sizeof runs / sizeof runs[0] && status == TD_OK; r++)
    {
        status =
            hash_steps(given, model, runs[r].threads, runs[r].resumed ? (n + 1) / 2 : 0, checkpoint, hash, &m, &error);
        int same = 0;
        while (status == TD_OK && same < n && hash[same] == first[same])
            same++;
        if (status == TD_OK && same < n)
        {
            printf("%-22s FAILED: %s: other bits in step %d\n", given->name, runs[r].what, same + 1);
            good = false;
        }
    }
    if (status != TD_OK)
        return complain(given, &error);
    if (good)
        printf("%-22s %4d steps, %016" PRIx64 "\n", given->name, n, first[n - 1]);
    return good;
}

// ---------------------------------------------------------------- program

static bool is_wanted(const goldenCase *given, const options *o)
{
    for (int i = 0; i < o->n_names; i++)
        if (strcmp(o->names[i], given->name) == 0)
            return true;
    return o->n_names == 0 && (given->quick || !o->quick);
}

static bool are_known(const options *o)
{
    for (int i = 0; i < o->n_names; i++)
    {
        const goldenCase *c = golden_cases;
        while (c->name != NULL && strcmp(c->name, o->names[i]) != 0)
            c++;
        if (c->name == NULL)
        {
            fprintf(stderr, "golden: there is no case '%s'; golden --list has their names\n", o->names[i]);
            return false;
        }
    }
    return true;
}

static bool run_case(const goldenCase *given, const options *o, const char *checkpoint)
{
    tdModel *model = NULL;
    tdError error = {0};
    if (golden_load(given, &model, &error) != TD_OK)
        return complain(given, &error);
    bool good = o->record ? record_case(given, model)
                : o->bits ? bits_case(given, model, checkpoint)
                          : compare_case(given, model);
    td_model_free(model);
    return good;
}

static bool run_all(const options *o)
{
    char checkpoint[] = "/tmp/golden_XXXXXX";
    int file = mkstemp(checkpoint), cases = 0, failed = 0;
    if (file < 0)
        return perror(checkpoint), false;
    close(file);
    for (const goldenCase *c = golden_cases; c->name != NULL; c++)
    {
        if (!is_wanted(c, o))
            continue;
        cases++;
        if (o->list)
            printf("%-22s %s\n", c->name, c->scene);
        else
            failed += !run_case(c, o, checkpoint);
        fflush(stdout);
    }
    unlink(checkpoint);
    if (!o->list)
        printf("%d cases, %d failed\n", cases, failed);
    if (!o->list && !o->record && !o->bits && td_isa_pick(false) == TD_ISA_PORTABLE)
        printf("this processor has the portable kernels only: no other set was compared\n");
    return failed == 0 && cases > 0;
}

int main(int argc, char **argv)
{
    options o = {0};
    for (o.names = argv + 1; argc > 1 && o.names[0] != NULL && o.names[0][0] == '-'; o.names++)
    {
        const char *word = o.names[0];
        if (strcmp(word, "--record") == 0)
            o.record = true;
        else if (strcmp(word, "--bits") == 0)
            o.bits = true;
        else if (strcmp(word, "--list") == 0)
            o.list = true;
        else if (strcmp(word, "--quick") == 0)
            o.quick = true;
        else
        {
            fprintf(stderr, "usage: golden [--record | --bits | --list] [--quick] [NAME...]\n");
            return TD_ERROR_USAGE;
        }
    }
    o.n_names = (int)(argv + argc - o.names);
    if (!are_known(&o))
        return TD_ERROR_USAGE;
    return run_all(&o) ? 0 : 1;
}
