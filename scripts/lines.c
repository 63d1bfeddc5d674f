// SPDX-License-Identifier: Apache-2.0
// Which pieces of code a program runs, for scripts/mutants: what clang's -fsanitize-coverage=inline-bool-flag,pc-table
// asks for. A shared library that every instrumented program and library is linked with. At its end a program appends a
// record for each of them to a file in the folder $TENDRIL_LINES: its path, the number of pieces, where each begins
// (relative to where the library was loaded), and a byte for each that tells whether it was run.
#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void __sanitizer_cov_bool_flag_init(bool *begin, bool *end);
void __sanitizer_cov_pcs_init(const uintptr_t *begin, const uintptr_t *end);

enum
{
    MOST = 64 // libraries of ours in one program; there are three
};

static struct
{
    const bool *ran;
    const uintptr_t (*piece)[2]; // where it begins; whether it begins a function
    size_t n;
} parts[MOST];
static int n_parts;

void __sanitizer_cov_bool_flag_init(bool *begin, bool *end)
{
    for (int i = 0; i < n_parts; i++)
        if (parts[i].ran == begin)
            return;
    if (n_parts == MOST || begin == end)
        return;
    parts[n_parts].ran = begin;
    parts[n_parts++].n = (size_t)(end - begin);
}

// Always called right after the flags of the same library.
void __sanitizer_cov_pcs_init(const uintptr_t *begin, const uintptr_t *end)
{
    if (n_parts > 0 && parts[n_parts - 1].piece == NULL && (size_t)(end - begin) == 2 * parts[n_parts - 1].n)
        parts[n_parts - 1].piece = (const uintptr_t(*)[2])begin;
}

__attribute__((destructor)) static void tell(void)
{
    char path[4096];
    const char *folder = getenv("TENDRIL_LINES");
    if (folder == NULL)
        return;
    snprintf(path, sizeof path, "%s/%ld", folder, (long)getpid());
    FILE *file = fopen(path, "ab");
    for (int i = 0; i < n_parts && file != NULL; i++)
    {
        Dl_info where;
        if (parts[i].piece == NULL || dladdr((const void *)parts[i].piece[0][0], &where) == 0)
            continue;
        fprintf(file, "%s\n%zu\n", where.dli_fname, parts[i].n);
        for (size_t k = 0; k < parts[i].n; k++)
        {
            uint64_t at = parts[i].piece[k][0] - (uintptr_t)where.dli_fbase;
            fwrite(&at, sizeof at, 1, file);
        }
        fwrite(parts[i].ran, 1, parts[i].n, file);
    }
    if (file != NULL)
        fclose(file);
}
