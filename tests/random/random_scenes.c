// SPDX-License-Identifier: Apache-2.0
// random_scenes: makes random scenes, runs them and checks what must hold of every one of them (judge.h has the rule
// for "silently wrong"). A scene that breaks it is made smaller as long as it breaks in the same way, and written to a
// folder with the reason. The same seed makes the same scenes.
//
//     random_scenes --seed 1 --count 100              # scenes 0 to 99 of seed 1
//     random_scenes --seed 1 --scene 17 --print       # one of them, as text
//     random_scenes --seed 2 --seconds 3600           # as many as an hour takes
#include "judge.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

// Much more than any of these scenes takes, also under a sanitizer; it is processor time, so a busy machine does not
// matter. Who waits for something that never comes takes none: hence the other limit, on the clock.
#define CPU_LIMIT  300  // [s]
#define WAIT_LIMIT 1800 // [s]

typedef struct runOptions
{
    uint64_t seed, first, count;
    int steps;
    double seconds; ///< 0: by count
    bool print, shrink, verbose;
    const char *out; ///< folder of what failed
} runOptions;

#define MOST_TAGS    128
#define MOST_REASONS 64

typedef struct tally
{
    uint64_t verdicts[VERDICTS];
    uint64_t ran;
    double energy, depth, momentum;
    int n_tags;
    struct
    {
        const char *tag;
        uint64_t count;
    } tags[MOST_TAGS];
    int n_reasons; ///< of refused and stopped scenes, without their numbers
    struct
    {
        verdictKind kind;
        char text[100];
        uint64_t count;
    } reasons[MOST_REASONS];
} tally;

// ---------------------------------------------------------------- one scene in a process of its own

static void remove_files(const randomScene *scene, const char *folder)
{
    for (int i = 0; i < scene->n; i++)
        if (scene->pieces[i].file != NULL)
        {
            char *path = format_text("%s/%s", folder, scene->pieces[i].file);
            unlink(path);
            free(path);
        }
    char *checkpoint = format_text("%s/checkpoint.h5", folder);
    unlink(checkpoint);
    free(checkpoint);
}

// What became of the child: its verdict, or how it ended.
static void wait_for(pid_t child, int from, runVerdict *verdict)
{
    struct pollfd wait = {.fd = from, .events = POLLIN};
    int ready = poll(&wait, 1, WAIT_LIMIT * 1000), status = 0;
    bool told = ready > 0 && read(from, verdict, sizeof *verdict) == (ssize_t)sizeof *verdict;
    if (!told && ready == 0)
        kill(child, SIGKILL);
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    bool ended = WIFEXITED(status) && WEXITSTATUS(status) == 0;
    if (told && ended)
        return;
    bool hangs = ready == 0 || (WIFSIGNALED(status) && (WTERMSIG(status) == SIGXCPU || WTERMSIG(status) == SIGKILL));
    *verdict = (runVerdict){.kind = hangs ? VERDICT_HANG : VERDICT_CRASH};
    snprintf(verdict->reason, sizeof verdict->reason, "%s",
             hangs                 ? "it does not end"
             : WIFSIGNALED(status) ? strsignal(WTERMSIG(status))
                                   : "it ended without a verdict");
}

static void judge_apart(const randomScene *scene, const char *folder, runVerdict *verdict)
{
    int ends[2];
    fflush(NULL);
    if (pipe(ends) != 0)
        abort();
    pid_t child = fork();
    if (child == 0)
    {
        const struct rlimit cpu = {CPU_LIMIT, CPU_LIMIT + 5}, none = {0, 0};
        setrlimit(RLIMIT_CPU, &cpu);
        setrlimit(RLIMIT_CORE, &none);
        close(ends[0]);
        runVerdict mine;
        scene_judge(scene, folder, &mine);
        bool told = write(ends[1], &mine, sizeof mine) == (ssize_t)sizeof mine;
        exit(told ? 0 : 1);
    }
    if (child < 0)
        abort();
    close(ends[1]);
    wait_for(child, ends[0], verdict);
    close(ends[0]);
    remove_files(scene, folder);
}

// ---------------------------------------------------------------- shrinking

static bool still_fails(const randomScene *scene, const char *folder, runVerdict *verdict)
{
    runVerdict now;
    judge_apart(scene, folder, &now);
    if (now.kind != verdict->kind)
        return false;
    *verdict = now;
    return true;
}

// Leaves pieces out one by one, the large ones first, and steps after the one at which it fails, until nothing more can
// go.
static void shrink(randomScene *scene, const char *folder, runVerdict *verdict)
{
    static const piecePlace order[] = {PIECE_BODY,   PIECE_ACTUATOR, PIECE_ATTACHMENT, PIECE_COUPLING,
                                       PIECE_LOAD,   PIECE_EFFECTOR, PIECE_TOOL,       PIECE_PROBE,
                                       PIECE_MOTION, PIECE_TOP,      PIECE_KEY};
    for (bool smaller = true; smaller;)
    {
        smaller = false;
        for (size_t k = 0; k < sizeof order / sizeof order[0]; k++)
            for (int i = 0; i < scene->n; i++)
            {
                if (scene->pieces[i].place != order[k] || !scene_has(scene, i))
                    continue;
                scene->pieces[i].alive = false;
                if (still_fails(scene, folder, verdict))
                    smaller = true;
                else
                    scene->pieces[i].alive = true;
            }
        int most = scene->steps;
        for (int steps = verdict->step > 0 && verdict->step < most ? verdict->step : most / 2;
             steps > 0 && steps < most; steps = steps / 2)
        {
            scene->steps = steps;
            if (!still_fails(scene, folder, verdict))
            {
                scene->steps = most;
                break;
            }
            most = steps;
            smaller = true;
        }
    }
}

static void write_failure(const runOptions *o, const randomScene *scene, const runVerdict *verdict)
{
    char *folder = format_text("%s/%" PRIu64 "-%" PRIu64, o->out, scene->seed, scene->number);
    char *path = format_text("%s/scene.yaml", folder), *text = scene_write(scene);
    mkdir(o->out, 0777);
    mkdir(folder, 0777);
    FILE *out = fopen(path, "w");
    if (out == NULL || !scene_write_files(scene, folder))
        fprintf(stderr, "random_scenes: cannot write %s\n", path);
    if (out != NULL)
    {
        fprintf(
            out,
            "# %s at step %d: %s\n# Scene %" PRIu64 " of seed %" PRIu64
            " made smaller. To see it again: tendril run scene.yaml --out run; all of it: random_scenes --seed %" PRIu64
            " --scene %" PRIu64 "\n%s",
            verdict_name(verdict->kind), verdict->step, verdict->reason, scene->number, scene->seed, scene->seed,
            scene->number, text);
        fclose(out);
    }
    printf("  written to %s\n", path);
    free(text);
    free(path);
    free(folder);
}

// ---------------------------------------------------------------- counts

static void count_tags(tally *all, const randomScene *scene)
{
    for (int i = 0; i < scene->n; i++)
    {
        int t = 0;
        bool seen = false;
        for (int j = 0; j < i && !seen; j++)
            seen = strcmp(scene->pieces[j].tag, scene->pieces[i].tag) == 0;
        while (t < all->n_tags && strcmp(all->tags[t].tag, scene->pieces[i].tag) != 0)
            t++;
        if (t == all->n_tags && t < MOST_TAGS)
        {
            all->tags[t].tag = scene->pieces[i].tag; // a constant of the program
            all->tags[all->n_tags++].count = 0;
        }
        if (!seen && t < MOST_TAGS)
            all->tags[t].count++;
    }
}

// Reasons that differ by numbers and names only are one.
static void count_reason(tally *all, const runVerdict *verdict)
{
    char text[sizeof all->reasons[0].text];
    size_t n = 0;
    const char *from = verdict->reason;
    for (; *from != '\0' && n + 1 < sizeof text; from++)
        if ((*from < '0' || *from > '9') && *from != '-' && *from != '.')
            text[n++] = *from;
    text[n] = '\0';
    int r = 0;
    while (r < all->n_reasons && (all->reasons[r].kind != verdict->kind || strcmp(all->reasons[r].text, text) != 0))
        r++;
    if (r == MOST_REASONS)
        return;
    if (r == all->n_reasons)
    {
        all->reasons[r].kind = verdict->kind;
        memcpy(all->reasons[r].text, text, n + 1);
        all->n_reasons++;
    }
    all->reasons[r].count++;
}

static void count_scene(tally *all, const randomScene *scene, const runVerdict *verdict)
{
    all->verdicts[verdict->kind]++;
    all->ran++;
    if (verdict->kind == VERDICT_REFUSED || verdict->kind == VERDICT_STOPPED)
        count_reason(all, verdict);
    if (verdict->kind != VERDICT_REFUSED)
        count_tags(all, scene);
    if (verdict->kind != VERDICT_FINE)
        return;
    all->energy = verdict->energy > all->energy ? verdict->energy : all->energy;
    all->depth = verdict->depth > all->depth ? verdict->depth : all->depth;
    all->momentum = verdict->momentum > all->momentum ? verdict->momentum : all->momentum;
}

static uint64_t print_tally(const runOptions *o, const tally *all)
{
    uint64_t wrong = 0;
    printf("%" PRIu64 " scenes of seed %" PRIu64 ", %d steps each:", all->ran, o->seed, o->steps);
    for (int k = 0; k < VERDICTS; k++)
    {
        if (all->verdicts[k] > 0)
            printf(" %" PRIu64 " %s", all->verdicts[k], verdict_name((verdictKind)k));
        if (verdict_is_wrong((verdictKind)k))
            wrong += all->verdicts[k];
    }
    printf(
        "\nof those that were fine: energy gained at most %.2g of what went in and out (0.1 allowed), contacts %.2g of "
        "a size deep (0.1), momentum to %.1g (1e-5)\n",
        all->energy, all->depth, all->momentum);
    if (o->verbose)
    {
        printf("what they were made of:");
        for (int t = 0; t < all->n_tags; t++)
            printf("%s %s %" PRIu64, t == 0 ? "" : ",", all->tags[t].tag, all->tags[t].count);
        printf("\n");
        for (int r = 0; r < all->n_reasons; r++)
            printf("%6" PRIu64 " %s: %s\n", all->reasons[r].count, verdict_name(all->reasons[r].kind),
                   all->reasons[r].text);
    }
    return wrong;
}

// ---------------------------------------------------------------- the program

static int usage(void)
{
    fprintf(stderr, "usage: random_scenes [--seed S] [--count N | --scene K | --seconds T] [--first K] [--steps 200] "
                    "[--out FOLDER] [--no-shrink] [--verbose] [--print]\n");
    return 2;
}

static bool read_options(int argc, char **argv, runOptions *o)
{
    for (int i = 1; i < argc; i++)
    {
        const char *key = argv[i];
        if (strcmp(key, "--print") == 0)
            o->print = true;
        else if (strcmp(key, "--no-shrink") == 0)
            o->shrink = false;
        else if (strcmp(key, "--verbose") == 0)
            o->verbose = true;
        else if (i + 1 == argc)
            return false;
        else if (strcmp(key, "--out") == 0)
            o->out = argv[++i];
        else
        {
            char *end = NULL;
            double value = strtod(argv[++i], &end);
            if (*end != '\0' || !(value >= 0) || value > 1e15)
                return false;
            if (strcmp(key, "--seed") == 0)
                o->seed = (uint64_t)value;
            else if (strcmp(key, "--count") == 0)
                o->count = (uint64_t)value;
            else if (strcmp(key, "--first") == 0)
                o->first = (uint64_t)value;
            else if (strcmp(key, "--steps") == 0 && value >= 1 && value <= 1e6)
                o->steps = (int)value;
            else if (strcmp(key, "--seconds") == 0)
                o->seconds = value;
            else if (strcmp(key, "--scene") == 0)
            {
                o->first = (uint64_t)value;
                o->count = 1;
            }
            else
                return false;
        }
    }
    return true;
}

static double seconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void try_scene(const runOptions *o, uint64_t number, const char *folder, tally *all)
{
    randomScene scene;
    runVerdict verdict;
    scene_generate(o->seed, number, o->steps, &scene);
    judge_apart(&scene, folder, &verdict);
    count_scene(all, &scene, &verdict);
    if (o->verbose || o->count == 1)
        printf("scene %" PRIu64 ": %s at step %d: %s (energy %.2g, depth %.2g, momentum %.1g)\n", number,
               verdict_name(verdict.kind), verdict.step, verdict.reason, verdict.energy, verdict.depth,
               verdict.momentum);
    else if (verdict_is_wrong(verdict.kind))
        printf("scene %" PRIu64 ": %s at step %d: %s\n", number, verdict_name(verdict.kind), verdict.step,
               verdict.reason);
    if (verdict_is_wrong(verdict.kind))
    {
        if (o->shrink)
            shrink(&scene, folder, &verdict);
        write_failure(o, &scene, &verdict);
    }
    fflush(stdout);
    scene_drop(&scene);
}

int main(int argc, char **argv)
{
    runOptions o = {.seed = 1, .count = 20, .steps = 200, .shrink = true, .out = "random-failures"};
    static tally all;
    if (!read_options(argc, argv, &o))
        return usage();
    char folder[] = "/tmp/random_scenes_XXXXXX";
    if (mkdtemp(folder) == NULL)
    {
        perror("random_scenes: a folder for files");
        return 1;
    }
    double end = seconds_now() + o.seconds;
    for (uint64_t k = 0; o.seconds > 0 ? seconds_now() < end : k < o.count; k++)
    {
        if (!o.print)
        {
            try_scene(&o, o.first + k, folder, &all);
            continue;
        }
        randomScene scene;
        scene_generate(o.seed, o.first + k, o.steps, &scene);
        char *text = scene_write(&scene);
        fputs(text, stdout);
        free(text);
        scene_drop(&scene);
    }
    rmdir(folder);
    return !o.print && print_tally(&o, &all) > 0;
}
