# SPDX-License-Identifier: Apache-2.0
# Links and anchors of Markdown pages, for scripts/check-links: prints
#
#     anchor FILE SLUG           for each heading, as GitHub and scripts/docs name it
#     link   FILE LINE TARGET    for each link and picture that is not in a block of code
#
# separated by tabs. POSIX awk in the C locale: letters beyond ASCII are bytes that stay.
BEGIN { OFS = "\t" }

FNR == 1 { fence = ""; delete seen }

/^[ ]*(```|~~~)/ {
    mark = substr($0, match($0, /[`~]/), 3)
    fence = fence == "" ? mark : (fence == mark ? "" : fence)
    next
}
fence != "" { next }
/^    / && blank { next } # an indented block
{ blank = /^[ \t]*$/ }

/^#+ / {
    text = $0
    sub(/^#+ +/, "", text)
    sub(/ +#*$/, "", text)
    print "anchor", FILENAME, unique(slug(text))
}

{
    line = $0
    gsub(/`[^`]*`/, "", line)
    while (match(line, /\]\([^()]*(\([^()]*\))?[^()]*\)/)) {
        target = substr(line, RSTART + 2, RLENGTH - 3)
        line = substr(line, RSTART + RLENGTH)
        sub(/[ \t]+"[^"]*"$/, "", target)
        print "link", FILENAME, FNR, target
    }
}

function slug(text) {
    while (match(text, /!?\[[^]]*\]\([^)]*\)/)) { # of a link, its words
        link = substr(text, RSTART, RLENGTH)
        words = link
        sub(/^!?\[/, "", words)
        sub(/\]\(.*/, "", words)
        text = substr(text, 1, RSTART - 1) words substr(text, RSTART + RLENGTH)
    }
    text = tolower(text)
    gsub(/[^a-z0-9_ \200-\377-]/, "", text)
    gsub(/ /, "-", text)
    return text
}

function unique(name) {
    if (!(name in seen)) {
        seen[name] = 0
        return name
    }
    return name "-" (++seen[name])
}
