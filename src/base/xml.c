// SPDX-License-Identifier: Apache-2.0
#include "base/xml.h"

#include <libxml/SAX2.h>
#include <libxml/parser.h>
#include <stdio.h>
#include <string.h>

typedef struct document
{
    bool doctype;
    int line;
    char error[300];
} document;

static void on_doctype(void *ctx, const xmlChar *name, const xmlChar *external, const xmlChar *system)
{
    xmlParserCtxtPtr context = ctx;
    (void)name;
    (void)external;
    (void)system;
    ((document *)context->_private)->doctype = true;
    xmlStopParser(context);
}

static void on_error(void *ctx, xmlErrorPtr problem)
{
    xmlParserCtxtPtr context = ctx;
    document *d = context->_private;
    if (problem == NULL || problem->level < XML_ERR_ERROR || d->error[0] != '\0')
        return; // the first error is the cause of the others
    // Prefixes without a namespace are common in URDF and Collada files, and nothing hangs on them.
    if (problem->domain == XML_FROM_NAMESPACE)
        return;
    d->line = problem->line;
    snprintf(d->error, sizeof d->error, "%s", problem->message == NULL ? "damaged" : problem->message);
    for (size_t n = strlen(d->error); n > 0 && (d->error[n - 1] == '\n' || d->error[n - 1] == ' '); n--)
        d->error[n - 1] = '\0';
}

tdStatus td_refuse_pointer(const char *data, size_t size, const char *file, tdError *error)
{
    static const char mark[] = "version https://git-lfs";
    if (size < sizeof mark || memcmp(data, mark, sizeof mark - 1) != 0)
        return TD_OK;
    return td_fail_at(error, TD_ERROR_INPUT, file, 0, NULL,
                      "this is only a pointer of Git LFS to the file; fetch the file in its repository: git lfs pull");
}

tdStatus td_xml_parse(const char *text, size_t size, const char *file, xmlDoc **out, tdError *error)
{
    *out = NULL;
    TD_TRY(td_refuse_pointer(text, size, file, error));
    if (size > TD_XML_BYTES)
        return td_fail_at(error, TD_ERROR_INPUT, file, 0, NULL, "the file has %zu bytes; %d are allowed", size,
                          TD_XML_BYTES);
    document d = {0};
    xmlParserCtxt *context = xmlNewParserCtxt();
    if (context == NULL)
        return td_fail_memory(error, file);
    context->_private = &d;
    context->sax->internalSubset = on_doctype;
    context->sax->comment = NULL;
    context->sax->serror = on_error; // of this context: libxml2's printing default stays out of it
    // Huge: arrays of numbers are single texts of many megabytes. What else that option lifts guards against entities,
    // which there are none of.
    *out =
        xmlCtxtReadMemory(context, text, (int)size, NULL, NULL, XML_PARSE_NONET | XML_PARSE_BIG_LINES | XML_PARSE_HUGE);
    xmlFreeParserCtxt(context);
    if (d.doctype)
        return td_fail_at(error, TD_ERROR_INPUT, file, 0, NULL,
                          "the file has a document type (<!DOCTYPE), which is not allowed; remove it");
    if (*out == NULL || d.error[0] != '\0' || xmlDocGetRootElement(*out) == NULL)
        return td_fail_at(error, TD_ERROR_INPUT, file, d.line, NULL, "not well-formed XML: %s",
                          d.error[0] != '\0' ? d.error : "it is empty");
    return TD_OK;
}

int td_xml_line(const xmlNode *node)
{
    long line = xmlGetLineNo((xmlNode *)node);
    return line > 0 && line < INT32_MAX ? (int)line : 0;
}

bool td_xml_is(const xmlNode *node, const char *name)
{
    return node->type == XML_ELEMENT_NODE && strcmp((const char *)node->name, name) == 0;
}

const xmlNode *td_xml_child(const xmlNode *node, const char *name)
{
    for (const xmlNode *child = node->children; child != NULL; child = child->next)
        if (td_xml_is(child, name))
            return child;
    return NULL;
}

bool td_xml_listed(const char *list, const char *word)
{
    size_t n = strlen(word);
    for (const char *at = list; *at != '\0';)
    {
        size_t length = strcspn(at, " ");
        if (length == n && memcmp(at, word, n) == 0)
            return true;
        at += length + (at[length] == ' ');
    }
    return false;
}
