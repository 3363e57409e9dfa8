#!/bin/sh
# The manual page's date, in the form that mdoc(7) requires: that of SOURCE_DATE_EPOCH, otherwise of the last commit,
# otherwise of today.
seconds=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null)}
LC_ALL=C date -u -d "@${seconds:-$(date +%s)}" '+%B %-d, %Y'
