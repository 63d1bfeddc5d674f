// SPDX-License-Identifier: Apache-2.0
// The document of an MJCF file: what it includes, its settings and classes, and the tree that comes of it.
#include "scene/mjcf.h"

#include "base/file.h"
#include "scene/mjcf_part.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_INCLUDES 100

// ---------------------------------------------------------------- includes

// The children of the included file's root stand in the place of <include>.
static tdStatus insert_file(tdMjcf *m, xmlNode *node)
{
    char path[PATH_MAX], why[700], *text = NULL;
    size_t size = 0;
    xmlDoc *doc = NULL;
    xmlChar *file = xmlGetProp(node, (const xmlChar *)"file");
    snprintf(why, sizeof why, "the attribute 'file' is missing");
    bool found =
        file != NULL && td_robot_find(&m->reader.files, (const char *)file, path, sizeof path, why, sizeof why);
    xmlFree(file);
    if (!found)
        return td_mjcf_fail(m, node, "%s", why);
    TD_TRY(td_file_read(path, &text, &size, m->error));
    const char *kept = td_arena_copy(&m->scratch, path);
    tdStatus status = kept == NULL ? td_fail_memory(m->error, m->file) : td_xml_parse(text, size, kept, &doc, m->error);
    free(text);
    for (xmlNode *child = status == TD_OK ? xmlDocGetRootElement(doc)->children : NULL; child != NULL;
         child = child->next)
    {
        xmlNode *copy = xmlDocCopyNode(child, node->doc, 1);
        if (copy == NULL || xmlAddPrevSibling(node, copy) == NULL)
            status = td_fail_memory(m->error, m->file);
    }
    xmlFreeDoc(doc);
    return status;
}

static xmlNode *find_include(xmlNode *root)
{
    for (xmlNode *at = root; at != NULL;)
    {
        if (td_xml_is(at, "include"))
            return at;
        if (at->type == XML_ELEMENT_NODE && at->children != NULL)
            at = at->children;
        else
        {
            while (at != root && at->next == NULL)
                at = at->parent;
            at = at == root ? NULL : at->next;
        }
    }
    return NULL;
}

static tdStatus insert_files(tdMjcf *m, xmlNode *root)
{
    xmlNode *node = NULL;
    for (int n = 0; (node = find_include(root)) != NULL; n++)
    {
        if (n == MOST_INCLUDES)
            return td_mjcf_fail(m, node, "more than %d files are included, or one includes itself", MOST_INCLUDES);
        TD_TRY(insert_file(m, node));
        xmlUnlinkNode(node);
        xmlFreeNode(node);
    }
    return TD_OK;
}

// Defaults that stand apart, as those of included files do, are one class.
static void merge_defaults(xmlNode *root)
{
    xmlNode *first = NULL, *next = NULL;
    for (xmlNode *child = root->children; child != NULL; child = next)
    {
        next = child->next;
        if (!td_xml_is(child, "default"))
            continue;
        if (first == NULL)
        {
            first = child;
            continue;
        }
        for (xmlNode *inner = child->children, *after = NULL; inner != NULL; inner = after)
        {
            after = inner->next;
            xmlUnlinkNode(inner);
            xmlAddChild(first, inner);
        }
        xmlUnlinkNode(child);
        xmlFreeNode(child);
    }
}

// ---------------------------------------------------------------- settings

static tdStatus copy_text(const tdMjcf *m, const tdMjElement *e, const char *name, char *out, size_t size)
{
    const char *text = td_mjcf_text(m, e, name);
    if (text != NULL && snprintf(out, size, "%s", text) >= (int)size)
        return td_mjcf_fail(m, e->node, "'%s' is too long", name);
    return TD_OK;
}

static tdStatus read_compiler(tdMjcf *m, const xmlNode *node)
{
    tdMjElement e = {.node = node, .class_of = -1};
    const char *angle = td_mjcf_text(m, &e, "angle"), *place = td_mjcf_text(m, &e, "coordinate"),
               *from = td_mjcf_text(m, &e, "inertiafromgeom"), *sequence = td_mjcf_text(m, &e, "eulerseq");
    double groups[2];
    int count = 0;
    td_mjcf_attributes(m, node);
    if (angle != NULL)
        m->radians = strcmp(angle, "radian") == 0;
    if (place != NULL && strcmp(place, "local") != 0)
        return td_mjcf_fail(m, node, "'coordinate' is '%.40s'; only local coordinates are read", place);
    if (from != NULL)
        m->from_geoms = strcmp(from, "true") == 0 ? 1 : strcmp(from, "false") == 0 ? 0 : -1;
    if (sequence != NULL && (strlen(sequence) != 3 || strspn(sequence, "xyzXYZ") != 3))
        return td_mjcf_fail(m, node, "'eulerseq' is '%.40s'; it has three of the letters x, y, z", sequence);
    if (sequence != NULL)
        memcpy(m->eulerseq, sequence, 4);
    TD_TRY(td_mjcf_flag(m, &e, "autolimits", &m->autolimits));
    TD_TRY(td_mjcf_flag(m, &e, "strippath", &m->strip));
    TD_TRY(td_mjcf_numbers(m, &e, "boundmass", 1, &m->boundmass, NULL));
    TD_TRY(td_mjcf_numbers(m, &e, "boundinertia", 1, &m->boundinertia, NULL));
    TD_TRY(td_mjcf_numbers(m, &e, "inertiagrouprange", 2, groups, &count));
    for (int k = 0; k < 2 && count == 2; k++)
        m->groups[k] = (int)fmin(fmax(groups[k], 0), 1e6);
    if (!(m->boundmass >= 0) || !(m->boundinertia >= 0))
        return td_mjcf_fail(m, node, "'boundmass' and 'boundinertia' must not be negative");
    TD_TRY(copy_text(m, &e, "assetdir", m->meshdir, sizeof m->meshdir));
    return copy_text(m, &e, "meshdir", m->meshdir, sizeof m->meshdir);
}

static tdStatus read_defaults(tdMjcf *m, const xmlNode *node, int parent, int depth)
{
    xmlChar *name = xmlGetProp((xmlNode *)node, (const xmlChar *)"class");
    const char *text = name != NULL ? (const char *)name : parent < 0 ? "main" : NULL;
    tdMjClass *entry = NULL;
    tdStatus status = TD_OK;
    if (text == NULL)
        status = td_mjcf_fail(m, node, "the attribute 'class' is missing");
    else if (depth > 100)
        status = td_mjcf_fail(m, node, "classes are nested too deeply");
    else if ((entry = td_mjcf_add(m, &m->classes, &m->n_classes, 10, sizeof *entry)) == NULL ||
             (entry->name = td_arena_copy(&m->scratch, text)) == NULL)
        status = td_fail_memory(m->error, m->file);
    xmlFree(name);
    TD_TRY(status);
    entry->node = node;
    entry->parent = parent;
    int at = m->n_classes - 1;
    for (const xmlNode *child = node->children; child != NULL; child = child->next)
    {
        if (td_xml_is(child, "default"))
            TD_TRY(read_defaults(m, child, at, depth + 1));
        else if (child->type == XML_ELEMENT_NODE)
            td_mjcf_attributes(m, child);
    }
    return TD_OK;
}

// ---------------------------------------------------------------- sections

typedef tdStatus sectionReader(tdMjcf *m, const xmlNode *section);

static tdStatus each(tdMjcf *m, const char *name, sectionReader *read)
{
    for (const xmlNode *child = m->root->children; child != NULL; child = child->next)
        if (td_xml_is(child, name))
            TD_TRY(read(m, child));
    return TD_OK;
}

static tdStatus top_defaults(tdMjcf *m, const xmlNode *section)
{
    return read_defaults(m, section, -1, 0);
}

// Sections that are not read: their elements, or they themselves.
static void count_sections(tdMjcf *m)
{
    static const char read[] = "compiler default asset worldbody actuator equality contact keyframe";
    static const char whole[] = "option visual statistic size";
    for (const xmlNode *section = m->root->children; section != NULL; section = section->next)
    {
        if (section->type != XML_ELEMENT_NODE || td_xml_listed(read, (const char *)section->name))
            continue;
        bool any = false;
        for (const xmlNode *child = section->children; child != NULL; child = child->next)
            if (child->type == XML_ELEMENT_NODE && !td_xml_listed(whole, (const char *)section->name))
            {
                if (child->_private == NULL) // a tendon that an actuator uses
                    td_mjcf_unused(m, (const char *)section->name, (const char *)child->name);
                any = true;
            }
        for (const xmlAttr *a = section->properties; a != NULL && td_xml_is(section, "option"); a = a->next)
        {
            td_mjcf_unused(m, "option", (const char *)a->name);
            any = true;
        }
        if (!any)
            td_mjcf_unused(m, (const char *)section->name, NULL);
    }
}

static tdStatus read_sections(tdMjcf *m)
{
    TD_TRY(each(m, "compiler", read_compiler));
    TD_TRY(each(m, "default", top_defaults));
    TD_TRY(each(m, "asset", td_mjcf_assets));
    TD_TRY(each(m, "worldbody", td_mjcf_world));
    if (m->n_links == 0)
        return td_mjcf_fail(m, m->root, "there is no <worldbody>");
    TD_TRY(each(m, "equality", td_mjcf_equality));
    TD_TRY(each(m, "contact", td_mjcf_contact));
    TD_TRY(each(m, "actuator", td_mjcf_actuators));
    TD_TRY(each(m, "keyframe", td_mjcf_keyframes));
    count_sections(m);
    return TD_OK;
}

// ---------------------------------------------------------------- tree

// Followers of followers follow the one that leads.
static void resolve_followers(tdMjcf *m)
{
    for (int l = 0; l < m->n_links; l++)
        for (int steps = 0; m->links[l].mimic >= 0 && steps < m->n_links; steps++)
        {
            tdTreeLink *link = &m->links[l];
            const tdTreeLink *other = &m->links[link->mimic];
            if (other->mimic < 0)
                break;
            link->offset += link->ratio * other->offset;
            link->ratio *= other->ratio;
            link->mimic = other->mimic;
        }
}

typedef struct sortedShape
{
    tdTreeShape shape;
    int from;
} sortedShape;

static int compare_shapes(const void *a, const void *b)
{
    const sortedShape *x = a, *y = b;
    return x->shape.link != y->shape.link ? (x->shape.link > y->shape.link) - (x->shape.link < y->shape.link)
                                          : (x->from > y->from) - (x->from < y->from);
}

// Shapes by link; pairs of them follow.
static tdStatus sort_shapes(tdMjcf *m)
{
    tdTree *tree = m->tree;
    sortedShape *sorted = TD_TAKE(&m->scratch, sortedShape, m->n_shapes);
    int *place = TD_TAKE(&m->scratch, int, m->n_shapes);
    tree->shapes = TD_TAKE(m->arena, tdTreeShape, m->n_shapes);
    if (sorted == NULL || place == NULL || tree->shapes == NULL)
        return td_fail_memory(m->error, m->file);
    for (int s = 0; s < m->n_shapes; s++)
        sorted[s] = (sortedShape){m->shapes[s], s};
    if (m->n_shapes > 1)
        qsort(sorted, (size_t)m->n_shapes, sizeof *sorted, compare_shapes);
    for (int s = 0; s < m->n_shapes; s++)
    {
        tree->shapes[s] = sorted[s].shape;
        place[sorted[s].from] = s;
    }
    tree->n_shapes = m->n_shapes;
    for (int p = 0; p < m->n_pairs; p++)
        for (int k = 0; k < 2; k++)
            m->pairs[p][k] = place[m->pairs[p][k]];
    return TD_OK;
}

static void *keep(tdMjcf *m, const void *table, int n, size_t size)
{
    void *out = td_arena_take(m->arena, (size_t)n + 1, size);
    if (out != NULL && n > 0)
        memcpy(out, table, (size_t)n * size);
    return out;
}

// A servo's damping that is given by a ratio: 1 is critical.
static void damp(tdTree *tree)
{
    for (int i = 0; i < tree->n_drives; i++)
    {
        tdTreeDrive *drive = &tree->drives[i];
        if (drive->damping < 0)
            drive->damping = -drive->damping * 2 * sqrt(drive->stiffness * td_tree_moved(tree, drive->link));
    }
}

static tdStatus build_tree(tdMjcf *m)
{
    tdTree *tree = m->tree;
    resolve_followers(m);
    TD_TRY(sort_shapes(m));
    tree->links = keep(m, m->links, m->n_links, sizeof *m->links);
    tree->drives = keep(m, m->drives, m->n_drives, sizeof *m->drives);
    tree->bonds = keep(m, m->bonds, m->n_bonds, sizeof *m->bonds);
    tree->excluded = keep(m, m->excluded, m->n_excluded, sizeof *m->excluded);
    tree->pairs = keep(m, m->pairs, m->n_pairs, sizeof *m->pairs);
    if (tree->links == NULL || tree->drives == NULL || tree->bonds == NULL || tree->excluded == NULL ||
        tree->pairs == NULL)
        return td_fail_memory(m->error, m->file);
    tree->n_links = m->n_links;
    tree->n_drives = m->n_drives;
    tree->n_bonds = m->n_bonds;
    tree->n_excluded = m->n_excluded;
    tree->n_pairs = m->n_pairs;
    tree->meets_itself = true;
    TD_TRY(td_robot_masses(m->arena, tree, m->error));
    damp(tree);
    return td_tree_check(m->arena, tree, m->error);
}

// One warning with all that is not used.
static tdStatus tell_unused(tdMjcf *m)
{
    char text[3600];
    size_t n = 0;
    for (int i = 0; i < m->n_unused && n < sizeof text - 200; i++)
        n += (size_t)snprintf(text + n, sizeof text - n, "%s%s (%d)", i > 0 ? ", " : "", m->unused[i].name,
                              m->unused[i].count);
    if (m->n_unused == 0)
        return TD_OK;
    return td_tree_warn(m->arena, m->tree, "%s: not used are: %s%s", m->file, text,
                        n >= sizeof text - 200 ? ", and more" : "")
               ? TD_OK
               : td_fail_memory(m->error, m->file);
}

static tdStatus check_keyframe(const tdMjcf *m)
{
    if (m->keyframe == NULL)
        return TD_OK;
    for (const xmlNode *section = m->root->children; section != NULL; section = section->next)
        for (const xmlNode *key = td_xml_is(section, "keyframe") ? section->children : NULL; key != NULL;
             key = key->next)
        {
            tdMjElement e = {.node = key, .class_of = -1};
            const char *name = td_xml_is(key, "key") ? td_mjcf_text(m, &e, "name") : NULL;
            if (name != NULL && strcmp(name, m->keyframe) == 0)
                return TD_OK;
        }
    return td_mjcf_fail(m, m->root, "there is no keyframe '%.100s'", m->keyframe);
}

static tdStatus read_document(tdMjcf *m, xmlNode *root)
{
    m->root = root;
    if (!td_xml_is(root, "mujoco"))
        return td_mjcf_fail(m, root, "found <%.60s>, expected <mujoco>: this is not an MJCF file",
                            (const char *)root->name);
    TD_TRY(insert_files(m, root));
    merge_defaults(root);
    TD_TRY(check_keyframe(m));
    TD_TRY(read_sections(m));
    TD_TRY(tell_unused(m));
    return build_tree(m);
}

tdStatus td_mjcf_parse(tdArena *arena, const char *text, size_t size, const char *name, const tdRobotFiles *files,
                       const char *keyframe, tdTree *tree, tdError *error)
{
    *tree = (tdTree){.file = td_arena_copy(arena, name)};
    tdMjcf *m = td_take(1, sizeof *m);
    if (tree->file == NULL || m == NULL)
    {
        free(m);
        return td_fail_memory(error, name);
    }
    *m = (tdMjcf){.file = tree->file,
                  .arena = arena,
                  .tree = tree,
                  .error = error,
                  .reader = {.arena = arena, .tree = tree, .files = *files},
                  .keyframe = keyframe,
                  .autolimits = true,
                  .from_geoms = -1,
                  .groups = {0, 5},
                  .eulerseq = "xyz"};
    xmlDoc *doc = NULL;
    tdStatus status = td_xml_parse(text, size, tree->file, &doc, error);
    if (status == TD_OK)
        status = read_document(m, xmlDocGetRootElement(doc));
    xmlFreeDoc(doc);
    void *const tables[] = {m->classes, m->meshes, m->bodies,   m->sites, m->joints, m->links,
                            m->shapes,  m->drives, m->excluded, m->pairs, m->bonds};
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++)
        free(tables[i]);
    td_arena_free(&m->scratch);
    free(m);
    if (status != TD_OK)
        td_error_clean(error);
    return status;
}

tdStatus td_mjcf_read(tdArena *arena, const char *path, const tdRobotFiles *files, const char *keyframe, tdTree *tree,
                      tdError *error)
{
    char *text = NULL, folder[PATH_MAX];
    size_t size = 0;
    tdRobotFiles own = *files;
    *tree = (tdTree){0};
    TD_TRY(td_file_read(path, &text, &size, error));
    td_path_folder(folder, sizeof folder, path);
    own.folder = folder;
    tdStatus status = td_mjcf_parse(arena, text, size, path, &own, keyframe, tree, error);
    free(text);
    return status;
}
