// SPDX-License-Identifier: Apache-2.0
// tendril new KIND DIR: a starting point for a scene of one's own, copied from those that came with the program.
#include "cli.h"

#include "base/file.h"
#include "base/suggest.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char help[] =
    "usage: tendril new KIND DIR\n\n"
    "Writes a starting point for a scene of your own into a new folder: a commented scene that runs at once, what\n"
    "it needs, and a README.md with the commands to try. KIND is one of\n\n"
    "  finger   a bending finger from a geometry file, with two cables: run, reduce, control\n"
    "  arm      a soft arm with four cables: run, workspace, sweep, control\n"
    "  gripper  a robot from a URDF file that picks up a soft block and puts it down: run, sweep\n"
    "  organ    soft tissue with a hard nodule and a ball in the user's hand: run, haptic\n"
    "  crawler  a worm with three cables on a floor: run, sweep, reduce\n\n"
    "  --json   print one JSON object: kind, folder, files\n"
    "  --quiet  only the name of the folder\n\n"
    "Exit codes: 0 done, 2 usage, 3 the folder is not empty, 6 a file could not be written.\n\n"
    "example: tendril new finger my_finger && cd my_finger && tendril run scene.yaml --out out/run\n";

static const char *const kinds[] = {"finger", "arm", "gripper", "organ", "crawler"};
enum
{
    N_KINDS = sizeof kinds / sizeof kinds[0],
    MOST_FILES = 32
};

typedef struct Files
{
    int n;
    char name[MOST_FILES][256];
} Files;

static bool is_kind(const char *name)
{
    for (int i = 0; i < N_KINDS; i++)
        if (strcmp(kinds[i], name) == 0)
            return true;
    return false;
}

// The plain files of a folder, in the order of their names.
static tdStatus list_files(const char *folder, Files *files, tdError *error)
{
    struct dirent **items = NULL;
    int n = scandir(folder, &items, NULL, alphasort);
    if (n < 0)
        return td_fail_at(error, TD_ERROR_IO, folder, 0, NULL, "cannot be read: %s", strerror(errno));
    for (int i = 0; i < n; i++)
    {
        if (items[i]->d_name[0] != '.' && files->n < MOST_FILES)
            snprintf(files->name[files->n++], sizeof files->name[0], "%s", items[i]->d_name);
        free(items[i]);
    }
    free(items);
    return TD_OK;
}

// Whether the folder is there and holds something, which is then left alone.
static bool is_taken(const char *folder)
{
    struct dirent **items = NULL;
    int n = scandir(folder, &items, NULL, NULL);
    for (int i = 0; i < n; i++)
        free(items[i]);
    free(items);
    struct stat info;
    return n > 2 || (n < 0 && stat(folder, &info) == 0); // more than "." and "..", or no folder
}

static tdStatus copy_file(const char *from, const char *to, const char *name, tdError *error)
{
    char source[PATH_MAX], target[PATH_MAX], *data = NULL;
    size_t size = 0;
    if (!td_path_join(source, sizeof source, from, name) || !td_path_join(target, sizeof target, to, name))
        return td_fail_at(error, TD_ERROR_IO, to, 0, NULL, "the path is too long");
    TD_TRY(td_file_read(source, &data, &size, error));
    tdStatus status = td_file_write(target, data, size, error);
    free(data);
    return status;
}

static void print(const char *kind, const char *folder, const Files *files)
{
    if (cli_json())
    {
        tdJson json = {0};
        td_json_open(&json, NULL, '{');
        td_json_string(&json, "status", "done");
        td_json_string(&json, "kind", kind);
        td_json_string(&json, "folder", folder);
        td_json_open(&json, "files", '[');
        for (int i = 0; i < files->n; i++)
            td_json_string(&json, NULL, files->name[i]);
        td_json_close(&json, ']');
        td_json_close(&json, '}');
        cli_print_json(&json);
        return;
    }
    printf("%s\n", folder);
    if (cli_quiet())
        return;
    for (int i = 0; i < files->n; i++)
        printf("  %s\n", files->name[i]);
    printf("\nnext: cd %s && tendril run scene.yaml --out out/run\nREADME.md there has more to try.\n", folder);
}

int cmd_new(int argc, char **argv)
{
    const char *words[2] = {NULL, NULL};
    int code = cli_parse(argc, argv, help, NULL, 0, words, 2, 2);
    if (code >= 0)
        return code;
    const char *kind = words[0], *folder = words[1];
    if (!is_kind(kind))
    {
        const char *nearest = td_suggest(kind, kinds, N_KINDS);
        if (nearest != NULL)
            return cli_usage("there is no starting point '%s'; did you mean '%s'?", kind, nearest);
        return cli_usage("there is no starting point '%s'; there are finger, arm, gripper, organ, crawler", kind);
    }
    tdError error = {0};
    char name[64], from[PATH_MAX];
    snprintf(name, sizeof name, "templates/%s", kind);
    if (!cli_shipped(name, from, sizeof from))
    {
        td_fail(&error, TD_ERROR_IO, "the folder %s, which is shipped with the program, is missing; install it again",
                name);
        return cli_fail(&error);
    }
    if (is_taken(folder))
    {
        td_fail_at(&error, TD_ERROR_INPUT, folder, 0, NULL, "already exists and is not empty; give a new folder");
        return cli_fail(&error);
    }
    Files files = {0};
    tdStatus status = list_files(from, &files, &error);
    if (status == TD_OK)
        status = td_path_make(folder, &error);
    for (int i = 0; i < files.n && status == TD_OK; i++)
        status = copy_file(from, folder, files.name[i], &error);
    if (status != TD_OK)
        return cli_fail(&error);
    print(kind, folder, &files);
    return 0;
}
