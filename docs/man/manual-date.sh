#!/bin/sh
# The manual page's date, as mdoc(7) wants it: of SOURCE_DATE_EPOCH, else of the last commit, else of today.
seconds=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null)}
LC_ALL=C date -u -d "@${seconds:-$(date +%s)}" '+%B %-d, %Y'
