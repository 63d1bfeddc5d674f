// SPDX-License-Identifier: Apache-2.0
#include "mesh/vtu_xml.h"

#include "base/memory.h"

#include <libxml/SAX2.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool td_vtu_is(const xmlNode *node, const char *name)
{
    return node->type == XML_ELEMENT_NODE && strcmp((const char *)node->name, name) == 0;
}

const char *td_vtu_attribute(const xmlNode *node, const char *name)
{
    for (const xmlAttr *a = node->properties; a != NULL; a = a->next)
        if (strcmp((const char *)a->name, name) == 0)
            return a->children == NULL || a->children->content == NULL ? "" : (const char *)a->children->content;
    return NULL;
}

const tdVtuElement *td_vtu_element(const tdVtuXml *xml, const xmlNode *node)
{
    return &xml->element[(intptr_t)node->_private - 1];
}

// ---------------------------------------------------------------- libxml2's callbacks

static void stop(xmlParserCtxtPtr context, bool *reason)
{
    *reason = true;
    xmlStopParser(context);
}

static void on_start(void *ctx, const xmlChar *name, const xmlChar *prefix, const xmlChar *uri, int n_namespaces,
                     const xmlChar **namespaces, int n_attributes, int n_defaulted, const xmlChar **attributes)
{
    xmlParserCtxtPtr context = ctx;
    tdVtuXml *xml = context->_private;
    xmlNode *parent = context->node;
    xmlSAX2StartElementNs(ctx, name, prefix, uri, n_namespaces, namespaces, n_attributes, n_defaulted, attributes);
    xmlNode *node = context->node;
    if (node == NULL || node == parent ||
        !td_grow((void **)&xml->element, &xml->capacity, xml->n_elements + 1, sizeof(tdVtuElement)))
    {
        stop(context, &xml->failed);
        return;
    }
    xml->element[xml->n_elements++] = (tdVtuElement){.line = xmlSAX2GetLineNumber(ctx), .text = xml->text.size};
    node->_private = (void *)(intptr_t)xml->n_elements; // its number, from 1
    if (parent != NULL && td_vtu_is(parent, "DataArray") && td_vtu_is(node, "DataArray"))
        stop(context, &xml->nested);
}

static void on_text(void *ctx, const xmlChar *text, int length)
{
    xmlParserCtxtPtr context = ctx;
    tdVtuXml *xml = context->_private;
    if (context->node == NULL || context->node->_private == NULL || !td_vtu_is(context->node, "DataArray"))
        return; // white space between elements, or values of information keys
    tdVtuElement *element = &xml->element[(intptr_t)context->node->_private - 1];
    if (element->text + element->length != xml->text.size)
    {
        stop(context, &xml->nested);
        return;
    }
    td_text_append(&xml->text, text, (size_t)length);
    element->length += length;
    if (xml->text.failed)
        stop(context, &xml->failed);
}

// A document type could define entities, and no VTU file has one.
static void on_doctype(void *ctx, const xmlChar *name, const xmlChar *external, const xmlChar *system)
{
    (void)name;
    (void)external;
    (void)system;
    xmlParserCtxtPtr context = ctx;
    stop(context, &((tdVtuXml *)context->_private)->doctype);
}

static void on_error(void *ctx, xmlErrorPtr problem)
{
    xmlParserCtxtPtr context = ctx;
    tdVtuXml *xml = context->_private;
    if (problem == NULL || problem->level < XML_ERR_ERROR || xml->error[0] != '\0')
        return; // the first error is the cause of the others
    xml->error_line = problem->line;
    snprintf(xml->error, sizeof xml->error, "%s", problem->message == NULL ? "damaged" : problem->message);
    size_t n = strlen(xml->error);
    while (n > 0 && (xml->error[n - 1] == '\n' || xml->error[n - 1] == ' '))
        xml->error[--n] = '\0';
}

static bool parse(tdVtuXml *xml, const char *text, size_t size)
{
    xml->context = xmlNewParserCtxt();
    if (xml->context == NULL)
        return false;
    xml->context->_private = xml;
    xmlSAXHandler *sax = xml->context->sax;
    sax->startElementNs = on_start;
    sax->characters = sax->ignorableWhitespace = sax->cdataBlock = on_text;
    sax->internalSubset = on_doctype;
    sax->comment = NULL;
    sax->processingInstruction = NULL;
    sax->serror = on_error; // of this context: libxml2's printing default and its globals stay out of it
    xml->document = xmlCtxtReadMemory(xml->context, text, (int)size, NULL, NULL, XML_PARSE_NONET);
    return xml->document != NULL && !xml->doctype && !xml->nested && !xml->failed;
}

// ---------------------------------------------------------------- the cut

// Start of the tag <AppendedData outside of comments; NULL if there is none.
static const char *find_appended(const char *data, const char *end)
{
    static const char tag[] = "<AppendedData";
    const char *c = data;
    while ((c = memchr(c, '<', (size_t)(end - c))) != NULL)
    {
        size_t left = (size_t)(end - c);
        if (left > sizeof tag - 1 && memcmp(c, tag, sizeof tag - 1) == 0)
            return c;
        if (left > 3 && memcmp(c, "<!--", 4) == 0)
        {
            c = memmem(c, left, "-->", 3);
            if (c == NULL)
                return NULL;
        }
        c++;
    }
    return NULL;
}

static const char *find_last(const char *data, const char *end, const char *what)
{
    size_t n = strlen(what);
    const char *c = end;
    while ((c = memrchr(data, what[0], (size_t)(c - data))) != NULL)
        if ((size_t)(end - c) >= n && memcmp(c, what, n) == 0)
            return c;
    return NULL;
}

// The bytes behind the '_' that follows the tag, up to the closing tag.
static tdStatus find_bytes(tdVtuXml *xml, const char *behind_tag, const char *end, const char *name, tdError *error)
{
    const char *c = behind_tag;
    while (c < end && (*c == ' ' || (*c >= '\t' && *c <= '\r')))
        c++;
    const char *close = find_last(behind_tag, end, "</AppendedData");
    if (c >= end || *c != '_' || close == NULL || close <= c)
        return td_fail_at(error, TD_ERROR_INPUT, name, 0, "AppendedData",
                          "%s; the file is cut off or damaged, export it again",
                          close == NULL ? "has no end" : "does not start with '_'");
    xml->appended = c + 1;
    xml->appended_end = close;
    return TD_OK;
}

static tdStatus explain(const tdVtuXml *xml, const char *name, tdError *error)
{
    if (xml->failed || xml->context == NULL)
        return td_fail_memory(error, "the XML of a VTU file");
    if (xml->doctype)
        return td_fail_at(error, TD_ERROR_INPUT, name, 0, NULL, "has a DOCTYPE, which no VTU file needs; remove it");
    if (xml->nested)
        return td_fail_at(error, TD_ERROR_INPUT, name, 0, "DataArray", "stands inside another DataArray");
    return td_fail_at(error, TD_ERROR_INPUT, name, xml->error_line, NULL,
                      "is not well-formed XML (%s); the file is cut off or damaged, export it again",
                      xml->error[0] == '\0' ? "empty" : xml->error);
}

tdStatus td_vtu_xml_read(tdVtuXml *xml, const char *data, size_t size, const char *name, tdError *error)
{
    static const char tail[] = "/></VTKFile>";
    const char *end = data + size, *tag = find_appended(data, end), *stop_at = tag;
    char quote = '\0';
    // The tag ends at the first '>' outside of quotes.
    for (; stop_at != NULL && stop_at < end && (quote != '\0' || *stop_at != '>'); stop_at++)
        if (quote == '\0' ? *stop_at == '"' || *stop_at == '\'' : *stop_at == quote)
            quote = quote == '\0' ? *stop_at : '\0';
    size_t head = stop_at == NULL ? size : (size_t)(stop_at - data);
    if (head > INT_MAX - sizeof tail)
        return td_fail_at(error, TD_ERROR_INPUT, name, 0, NULL,
                          "holds more than 2 GB of XML; export with the arrays appended");
    if (stop_at == NULL || stop_at == end || stop_at[-1] == '/')
        return parse(xml, data, size > INT_MAX ? INT_MAX : size) ? TD_OK : explain(xml, name, error);

    TD_TRY(find_bytes(xml, stop_at + 1, end, name, error));
    char *copy = malloc(head + sizeof tail);
    if (copy == NULL)
        return td_fail_memory(error, "the XML of a VTU file");
    memcpy(copy, data, head);
    memcpy(copy + head, tail, sizeof tail);
    bool good = parse(xml, copy, head + sizeof tail - 1);
    free(copy);
    return good ? TD_OK : explain(xml, name, error);
}

void td_vtu_xml_free(tdVtuXml *xml)
{
    if (xml->document != NULL)
        xmlFreeDoc(xml->document);
    if (xml->context != NULL)
        xmlFreeParserCtxt(xml->context);
    free(xml->element);
    free(xml->text.data);
    *xml = (tdVtuXml){0};
}
