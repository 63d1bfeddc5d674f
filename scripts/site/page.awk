# SPDX-License-Identifier: Apache-2.0
# From the HTML that cmark-gfm makes of a page to a page of the site: headings get anchors, a table of contents stands
# behind the first heading, links to Markdown pages lead to their HTML. Other files that a page links to are listed in
# `files`, a picture as "picture PATH". A link whose words are the name of a page gets the page's title instead.
# Variables: source (path of the page), files, titles (a file: page, tab, title).
BEGIN {
    while ((getline entry < titles) > 0) {
        split(entry, part, "\t")
        title[part[1]] = part[2]
    }
    folder = source
    if (!sub(/\/[^\/]*$/, "", folder))
        folder = ""
}

{ line[++n] = $0 }

# a/b/../c -> a/c
function resolve(path) {
    path = (folder == "" ? "" : folder "/") path
    while (match(path, /[^\/.]+\/\.\.\//))
        path = substr(path, 1, RSTART - 1) substr(path, RSTART + RLENGTH)
    return path
}

# <a href="docs/page.md">docs/page.md</a>, with or without an anchor
function entitle(text,    out, link, page) {
    out = ""
    while (match(text, /<a href="[^"]*\.md(#[^"]*)?">[^<>]*\.md<\/a>/)) {
        link = substr(text, RSTART, RLENGTH)
        out = out substr(text, 1, RSTART - 1)
        text = substr(text, RSTART + RLENGTH)
        page = link
        sub(/^<a href="/, "", page)
        sub(/(#[^"]*)?">.*/, "", page)
        page = resolve(page)
        if (page in title)
            sub(/>[^<>]*<\/a>$/, ">" title[page] "</a>", link)
        out = out link
    }
    return out text
}

# Links within tags only: in text, quotes are escaped.
function rewrite(text,    out, attribute, target) {
    out = ""
    while (match(text, / (href|src)="[^"]*"/)) {
        attribute = substr(text, RSTART, RLENGTH)
        out = out substr(text, 1, RSTART - 1)
        text = substr(text, RSTART + RLENGTH)
        target = attribute
        sub(/^ (href|src)="/, "", target)
        sub(/"$/, "", target)
        out = out (attribute ~ /^ src/ ? " loading=\"lazy\" src=\"" : " href=\"") lead(target, attribute ~ /^ src/) "\""
    }
    return out text
}

function lead(target, picture,    path, anchor) {
    if (target ~ /^([a-z]+:|#)/)
        return target
    path = target
    anchor = ""
    if (match(target, /#/)) {
        path = substr(target, 1, RSTART - 1)
        anchor = substr(target, RSTART)
    }
    if (path ~ /README\.md$/)
        sub(/README\.md$/, "index.html", path)
    else if (path ~ /\.md$/)
        sub(/\.md$/, ".html", path)
    else
        print (picture ? "picture" : "file") "\t" (folder == "" ? "" : folder "/") path >files
    return path anchor
}

function plain(text) {
    gsub(/<[^>]*>/, "", text)
    return text
}

function slug(text) {
    text = tolower(plain(text))
    gsub(/&(amp|lt|gt|quot);/, "", text)
    gsub(/[^a-z0-9_ \200-\377-]/, "", text)
    gsub(/ /, "-", text)
    if (text in seen)
        return text "-" (++seen[text])
    seen[text] = 0
    return text
}

END {
    for (i = 1; i <= n; i++) {
        if (line[i] ~ /^<h[1-6]>.*<\/h[1-6]>$/) {
            level = substr(line[i], 3, 1)
            words = substr(line[i], 5, length(line[i]) - 9)
            id = slug(words)
            if (level == 2)
                contents = contents "<li><a href=\"#" id "\">" plain(words) "</a></li>\n"
            sections += level == 2
            line[i] = "<h" level " id=\"" id "\">" rewrite(words) "<a class=\"anchor\" href=\"#" id \
                "\" aria-label=\"Link to this section\">#</a></h" level ">"
        } else {
            line[i] = rewrite(entitle(line[i]))
            # What may scroll sideways can be reached by the keyboard; a cell without words is no heading.
            sub(/<table>/, "<div class=\"table\" tabindex=\"0\"><table>", line[i])
            sub(/^<pre/, "<pre tabindex=\"0\"", line[i])
            if (line[i] ~ /^<th[^>]*><\/th>$/)
                line[i] = "<td></td>"
            sub(/<\/table>/, "</table></div>", line[i])
        }
    }
    for (i = 1; i <= n; i++) {
        print line[i]
        if (i == 1 && sections > 3)
            print "<nav class=\"contents\" aria-label=\"On this page\"><ul>\n" contents "</ul></nav>"
    }
}
