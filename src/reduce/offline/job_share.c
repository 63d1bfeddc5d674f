// SPDX-License-Identifier: Apache-2.0
// The work of several processes: which trajectories of full order belong to which share, and whether all are there.
//
// Trajectories start from rest and know nothing of each other, so that a share is a list of them. Shares follow from
// the scene and their number alone: the longest trajectory goes to the share that has the fewest places so far, and so
// on. A process that is killed loses the trajectories that it was at; its share, begun again, goes on behind those that
// are there.
#include "reduce/offline/job_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Of samples that follow from the model so far (auto, greedy): what they begin with; the rest is chosen from it.
int td_job_ways(const tdJob *job, tdJobWay ways[TD_JOB_WAYS])
{
    int n = 0;
    if (job->path.count > 0)
        ways[n++] = (tdJobWay){"snapshots", &job->path, false, TD_REDUCE_SNAPSHOTS, NULL};
    if (job->held_out.count > 0)
        ways[n++] = (tdJobWay){"check-full", &job->held_out, true, TD_REDUCE_CHECK, NULL};
    return n;
}

static int64_t places_of(const tdSamplePath *path, int trajectory)
{
    return path->start[trajectory + 1] - path->start[trajectory];
}

// ---------------------------------------------------------------- shares

typedef struct Piece
{
    int64_t places;
    int way, trajectory;
} Piece;

// The longest first; in order where they are equal.
static int compare_pieces(const void *a, const void *b)
{
    const Piece *one = a, *two = b;
    if (one->places != two->places)
        return one->places > two->places ? -1 : 1;
    return one->way != two->way ? one->way - two->way : one->trajectory - two->trajectory;
}

static tdStatus deal(const tdJob *job, int n, tdJobWay *ways, tdError *error)
{
    int shares = job->task->shares, count = 0;
    for (int w = 0; w < n; w++)
        count += ways[w].path->n_trajectories;
    Piece *pieces = td_take((size_t)count + 1, sizeof *pieces);
    int64_t *load = td_take((size_t)shares, sizeof *load);
    tdStatus status = pieces == NULL || load == NULL ? td_fail_memory(error, "the shares") : TD_OK;
    for (int w = 0, at = 0; w < n && status == TD_OK; w++)
        for (int t = 0; t < ways[w].path->n_trajectories; t++)
            pieces[at++] = (Piece){places_of(ways[w].path, t), w, t};
    if (status == TD_OK)
        qsort(pieces, (size_t)count, sizeof *pieces, compare_pieces);
    for (int i = 0; i < count && status == TD_OK; i++)
    {
        int least = 0;
        for (int s = 1; s < shares; s++)
            least = load[s] < load[least] ? s : least;
        load[least] += pieces[i].places;
        ways[pieces[i].way].mine[pieces[i].trajectory] = least == job->task->share - 1;
    }
    free(pieces);
    free(load);
    return status;
}

tdStatus td_job_share(tdJob *job, tdError *error)
{
    tdJobWay ways[TD_JOB_WAYS];
    tdReduceReport *report = job->report;
    int n = td_job_ways(job, ways);
    for (int w = 0; w < n; w++)
    {
        ways[w].mine = TD_TAKE(&job->arena, bool, ways[w].path->n_trajectories);
        if (ways[w].mine == NULL)
            return td_fail_memory(error, "the shares");
    }
    TD_TRY(deal(job, n, ways, error));
    for (int w = 0; w < n && !job->stopped; w++)
    {
        const tdJobWay *way = &ways[w];
        int64_t places = 0;
        for (int t = 0; t < way->path->n_trajectories; t++)
            if (way->mine[t])
            {
                report->trajectories++;
                places += places_of(way->path, t);
            }
        report->places += places;
        if (places == 0)
            continue;
        td_job_begin(job, way->phase, job->work.key, places);
        TD_TRY(td_job_visit_some(job, way->name, way->path, 0, way->mine, way->positions, error));
    }
    return TD_OK;
}

// ---------------------------------------------------------------- what is missing

/// A list of numbers as text, those that follow each other as ranges, as far as it has room.
typedef struct List
{
    char text[320];
    int length, from, to; // the open range, from < 0: none
    bool full;
} List;

static void close_range(List *list)
{
    char range[32];
    if (list->from < 0)
        return;
    int n = list->from == list->to ? snprintf(range, sizeof range, " %d", list->from)
                                   : snprintf(range, sizeof range, " %d-%d", list->from, list->to);
    list->from = -1;
    if (list->full || list->length + n + 8 > (int)sizeof list->text)
    {
        if (!list->full)
            list->length += snprintf(list->text + list->length, sizeof list->text - (size_t)list->length, " ...");
        list->full = true;
        return;
    }
    list->length += snprintf(list->text + list->length, sizeof list->text - (size_t)list->length, "%s", range);
}

static void put_number(List *list, int number)
{
    if (list->from >= 0 && number == list->to + 1)
    {
        list->to = number;
        return;
    }
    close_range(list);
    list->from = list->to = number;
}

static void put_name(List *list, const char *name)
{
    close_range(list);
    if (!list->full && list->length + 32 < (int)sizeof list->text)
        list->length += snprintf(list->text + list->length, sizeof list->text - (size_t)list->length, "%s%s",
                                 list->length > 0 ? "; " : "", name);
}

tdStatus td_job_complete(tdJob *job, tdError *error)
{
    tdJobWay ways[TD_JOB_WAYS];
    tdReduceReport *report = job->report;
    List list = {.from = -1};
    int64_t missing = 0, all = 0;
    int n = td_job_ways(job, ways);
    for (int w = 0; w < n; w++)
    {
        int64_t before = missing;
        for (int t = 0; t < ways[w].path->n_trajectories; t++, all++)
        {
            tdJobTrajectory data;
            TD_TRY(td_job_take(job, ways[w].path, t, ways[w].positions, &data, error));
            if (!td_job_load(job, ways[w].name, ways[w].path, t, ways[w].positions, &data))
            {
                if (missing++ == before)
                    put_name(&list, ways[w].name);
                put_number(&list, ways[w].path->number != NULL ? ways[w].path->number[t] : t);
            }
            report->places += places_of(ways[w].path, t);
            report->trajectory_seconds += data.seconds;
            if (data.seconds > report->longest_trajectory)
                report->longest_trajectory = data.seconds;
            td_job_drop(&data);
        }
    }
    close_range(&list);
    report->trajectories = all;
    if (missing == 0)
        return TD_OK;
    return td_fail_at(error, TD_ERROR_INPUT, job->work.folder, 0, NULL,
                      "%lld of %lld trajectories are missing: %s. Run the unfinished jobs again, each continues where "
                      "it stopped; or leave out --merge, and they are computed here",
                      (long long)missing, (long long)all, list.text);
}
