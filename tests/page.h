// SPDX-License-Identifier: Apache-2.0
// Checks of a report as a reader of HTML would make them.
#pragma once
#include "test.h"

#include <libxml/parser.h>
#include <libxml/tree.h>

/// Fails unless the text is well-formed.
static inline xmlDoc *page_parse(const char *text, size_t size)
{
    // A report holds its pictures, so single attributes may be large.
    xmlDoc *doc = xmlReadMemory(text, (int)size, "report.html", "utf-8",
                                XML_PARSE_NONET | XML_PARSE_NOERROR | XML_PARSE_NOWARNING | XML_PARSE_HUGE);
    if (doc == NULL)
    {
        const xmlError *error = xmlGetLastError();
        fail_msg("the page is not well-formed, line %d: %s", error->line, error->message);
    }
    return doc;
}

/// Elements of a name below a node, itself included; attributes that would fetch something fail.
static inline int page_count(const xmlNode *node, const char *name)
{
    int n = 0;
    for (; node != NULL; node = node->next)
    {
        n += node->type == XML_ELEMENT_NODE && strcmp((const char *)node->name, name) == 0;
        for (const xmlAttr *a = node->type == XML_ELEMENT_NODE ? node->properties : NULL; a != NULL; a = a->next)
        {
            bool fetches = strcmp((const char *)a->name, "src") == 0 || strcmp((const char *)a->name, "href") == 0 ||
                           strcmp((const char *)a->name, "srcset") == 0;
            if (fetches && strncmp((const char *)a->children->content, "data:", 5) != 0)
                fail_msg("<%s> fetches %.60s", node->name, a->children->content);
        }
        n += page_count(node->children, name);
    }
    return n;
}

/// Well-formed, stands alone, has a title and words for those who do not see its pictures.
static inline void page_check(const char *text, size_t size, int pictures, int plots)
{
    xmlDoc *doc = page_parse(text, size);
    const xmlNode *root = xmlDocGetRootElement(doc);
    assert_int_equal(page_count(root, "title"), 1);
    assert_int_equal(page_count(root, "h1"), 1);
    assert_int_equal(page_count(root, "img"), pictures);
    assert_int_equal(page_count(root, "figure"), pictures + plots);
    assert_int_equal(page_count(root, "script"), 0);
    assert_int_equal(page_count(root, "link"), 0);
    assert_null(strstr(text, "http:"));
    assert_null(strstr(text, "https:"));
    assert_null(strstr(text, "url("));
    assert_null(strstr(text, "alt=\"\""));
    static const char *const numbers[] = {">nan", " nan", "\"nan", "-nan", ">inf", " inf ", "\"inf"};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        assert_null(strstr(text, numbers[i]));
    xmlFreeDoc(doc);
}
