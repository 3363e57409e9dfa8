/* The retirement of a pack by two questions: docs/model.md, docs/adr/0045-packs-are-retired.md.
 *
 * One file, whose content refers to one pack at first. Rita's device may delete the pack; two others write the same
 * file. A commit reaches each device at any time, after all that its author had applied. */

/* Rules of docs/protocol.md, "Packs that nothing refers to". */
#ifndef TWO_QUESTIONS      /* the pack is deleted after the answers to a second question */
#define TWO_QUESTIONS 1
#endif
#ifndef ALL_ANSWER         /* every awaited log has to answer */
#define ALL_ANSWER 1
#endif
#ifndef ANSWERS_FIRST      /* a device answers before it makes any other commit */
#define ANSWERS_FIRST 1
#endif
#ifndef ANSWERS_AGAIN      /* and once more, when it comes to refer to the pack by what it applies */
#define ANSWERS_AGAIN 1
#endif
#ifndef UNCHECKED_RETAINS  /* a commit made while others are applied makes the next answer retain everything */
#define UNCHECKED_RETAINS 1
#endif
#ifndef UNNAMED_COUNT      /* files without a name that a program has open keep the pack */
#define UNNAMED_COUNT 1
#endif
#ifndef ANY_ANSWER_RETAINS /* an answer to an earlier question retains, too */
#define ANY_ANSWER_RETAINS 1
#endif
#ifndef OWN_CONTENTS       /* the device that deletes compares its own contents each time */
#define OWN_CONTENTS 1
#endif
#ifndef NOTHING_UNSENT     /* it does not ask while it has unsent changes */
#define NOTHING_UNSENT 1
#endif
#ifndef FORMER_BOUNDS      /* commits of former members are applied up to their bounds */
#define FORMER_BOUNDS 1
#endif

/* Scope. */
#ifndef SENDS              /* commits with contents */
#define SENDS 3
#endif
#ifndef LOCALS             /* changes that programs make */
#define LOCALS 4
#endif
#ifndef EACH               /* of each device */
#define EACH 1
#endif
#ifndef SIZE               /* commits of a log */
#define SIZE 5
#endif
#ifndef UNNAMED            /* files that a program keeps open after their names are gone */
#define UNNAMED 0
#endif
#ifndef REMOVAL            /* Dan may be removed */
#define REMOVAL 0
#endif

#define DEVICES 3
#define RITA 0
#define CAROL 1
#define DAN 2

#define CONTENT 1   /* a content of the file that does not refer to the pack */
#define PART 2      /* one that does: a part of the file was changed */
#define FIRST 3     /* the questions */
#define SECOND 4
#define FREE 5      /* the answers */
#define RETAIN 6

#define NONE 0
#define WHOLE 1     /* an unsent change that does not refer to the pack */
#define PARTLY 2    /* one that does */

#define bit_of(x) (1 << (x))
#define dot(log, number) (log * SIZE + number)

typedef Commit {
    byte kind;
    byte seen[DEVICES];
    short replaces;   /* the contents that it replaces */
    byte question     /* what it answers */
};
Commit commit[DEVICES * SIZE + 1];
byte made[DEVICES];
byte sends, locals;

typedef Device {
    byte applied[DEVICES];
    short replaced;   /* contents that were replaced by what it applied; bit 15 - 1 is the first content */
    byte changes;     /* how many changes programs have made */
    byte unsent;      /* an unsent change */
    short base;       /* the content that it replaces */
    bit unnamed;      /* a program has a content open that refers to the pack, and has no name */
    byte question;    /* the question that it knows, and whether it has answered and retained */
    bit answered;
    bit retained;
    bit due;          /* it must compare its contents before it makes a commit */
    bit unchecked     /* it has made a commit that nobody compared */
};
Device device[DEVICES];

/* What the device that deletes knows. */
byte asked;           /* the question: NONE, FIRST or SECOND */
byte answers;         /* devices that have answered it */
bit kept;             /* somebody retains the pack */
bit deleted;
bit gone;             /* Dan was removed */

hidden byte c, i, j, k, n, ok, refers, facts;

/* The first content, which refers to the pack. */
#define START (DEVICES * SIZE)
#define live(d, x) (!(device[d].replaced & bit_of(x)))
#define refers_to_pack(x) (x == START || commit[x].kind == PART)
#define is_content(x) (x == START || commit[x].kind == CONTENT || commit[x].kind == PART)
#define is_applied(d, x) (x == START || x % SIZE < device[d].applied[x / SIZE])

/* Whether the index of a device refers to the pack, and whether its facts do. */
inline look(d) {
    refers = device[d].unsent == PARTLY || (device[d].unnamed && UNNAMED_COUNT);
    facts = 0;
    for (i : 0 .. START) {
        if
        :: (i == START || i % SIZE < device[d].applied[i / SIZE]) && is_content(i) && live(d, i) &&
            refers_to_pack(i) ->
            facts = 1;
            /* An unsent change hides the content that it replaces. */
            if :: device[d].unsent != NONE && device[d].base == i -> skip :: else -> refers = 1 fi
        :: else
        fi
    }
}

/* 5. Once the pack is deleted, no device refers to it, ever; and what the deleting device has sent is replaced. */
inline check() {
    if
    :: deleted ->
        for (j : 0 .. DEVICES - 1) {
            if
            :: !(gone && j == DAN) ->
                look(j);
                assert(!refers && !device[j].unnamed);
                assert(j != RITA || !facts)
            :: else
            fi
        }
    :: else
    fi
}

/* Adds a commit to a device's log. */
inline add(d, kind_, replaces_, question_) {
    c = dot(d, made[d]);
    commit[c].kind = kind_;
    commit[c].replaces = replaces_;
    commit[c].question = question_;
    for (k : 0 .. DEVICES - 1) { commit[c].seen[k] = device[d].applied[k] }
    made[d]++;
    device[d].applied[d]++;
    device[d].replaced = device[d].replaced | (replaces_)
}

/* The unsent change becomes a commit. */
inline send(d) {
    add(d, (device[d].unsent == PARTLY -> PART : CONTENT), bit_of(device[d].base), NONE);
    device[d].unsent = NONE;
    device[d].base = 0;
    sends++
}

/* A program writes: the whole of a content that the device shows, or a part of it. */
inline change(d, x, partly) {
    device[d].unsent = ((partly) -> PARTLY : WHOLE);
    device[d].base = x;
    locals++;
        device[d].changes++;
    printf("%d changes content %d, kind %d\n", d, x, device[d].unsent);
    check()
}

inline overwrite(d) {
    if
    :: locals < LOCALS && device[d].unsent == PARTLY ->
        device[d].unsent = WHOLE;
        locals++;
        device[d].changes++;
        printf("%d overwrites its change\n", d);
        check()
    :: else
    fi
}

/* A program keeps a content open. */
inline open(d) {
    look(d);
    if
    :: UNNAMED && refers && !device[d].unnamed && locals < LOCALS ->
        device[d].unnamed = 1;
        locals++;
        device[d].changes++;
        printf("%d has a file open\n", d);
        check()
    :: else
    fi
}

/* Before a commit, a device answers what it has to. */
inline answer(d) {
    if
    :: d == RITA && device[d].due && asked != NONE ->
        look(d);
        kept = kept || (OWN_CONTENTS && refers) || (UNCHECKED_RETAINS && device[d].unchecked);
        device[d].due = 0;
        device[d].unchecked = 0;
        check()
    :: d != RITA && device[d].due && device[d].question != NONE && made[d] < SIZE ->
        look(d);
        refers = refers || (UNCHECKED_RETAINS && device[d].unchecked);
        if
        :: !device[d].answered || (refers && !device[d].retained && ANSWERS_AGAIN) ->
            n = refers;
            add(d, (n -> RETAIN : FREE), 0, device[d].question);
            device[d].answered = 1;
            device[d].retained = device[d].retained || n;
            printf("%d answers question %d: %d\n", d, device[d].question, n)
        :: else
        fi;
        device[d].due = 0;
        device[d].unchecked = 0;
        check()
    :: else
    fi
}

inline send_change(d) {
    if
    :: device[d].unsent != NONE && sends < SENDS && made[d] < SIZE && !(ANSWERS_FIRST && device[d].due) ->
        send(d);
        printf("%d sends content %d, kind %d\n", d, c, commit[c].kind);
        check()
    :: else
    fi
}

/* A device applies the next commit of a log. */
inline apply(d, log) {
    c = dot(log, device[d].applied[log]);
    ok = 1;
    for (k : 0 .. DEVICES - 1) {
        if :: k != (log) && commit[c].seen[k] > device[d].applied[k] -> ok = 0 :: else fi
    }
    /* A local change becomes a commit first: it was made without knowledge of what comes. */
    if
    :: ok && device[d].unsent != NONE && (sends >= SENDS || made[d] >= SIZE) -> ok = 0
    :: else
    fi;
    if
    :: ok && (log != DAN || !gone || device[d].applied[log] < made[log]) ->
        if
        :: device[d].unsent != NONE ->
            send(d);
            printf("%d sends content %d, kind %d, before it applies\n", d, c, commit[c].kind);
            if
            :: device[d].question != NONE || (d == RITA && asked != NONE) -> device[d].unchecked = 1; device[d].due = 1
            :: else
            fi
        :: else
        fi;
        c = dot(log, device[d].applied[log]);
        device[d].applied[log]++;
        printf("%d applies commit %d of %d, kind %d\n", d, device[d].applied[log], log, commit[c].kind);
        if
        :: commit[c].kind == CONTENT || commit[c].kind == PART ->
            device[d].replaced = device[d].replaced | commit[c].replaces;
            if
            :: device[d].question != NONE || (d == RITA && asked != NONE) -> device[d].due = 1
            :: else
            fi
        :: commit[c].kind == FIRST || commit[c].kind == SECOND ->
            device[d].question = commit[c].kind;
            device[d].answered = 0;
            device[d].retained = 0;
            device[d].due = 1
        :: (commit[c].kind == FREE || commit[c].kind == RETAIN) && d == RITA ->
            if
            :: commit[c].kind == RETAIN && (ANY_ANSWER_RETAINS || commit[c].question == asked) -> kept = 1
            :: else
            fi;
            if :: commit[c].question == asked -> answers = answers | bit_of(log) :: else fi
        :: else
        fi;
        check()
    :: else
    fi
}

/* Rita's device asks, asks again, deletes. */
inline go_on() {
    look(RITA);
    ok = (answers & bit_of(CAROL)) && ((answers & bit_of(DAN)) || gone) || !ALL_ANSWER && answers;
    if
    :: gone && FORMER_BOUNDS && device[RITA].applied[DAN] < made[DAN] -> ok = 0
    :: else
    fi;
    if
    :: asked == NONE && !refers && !(NOTHING_UNSENT && device[RITA].unsent != NONE) && made[RITA] < SIZE ->
        add(RITA, FIRST, 0, NONE);
        asked = FIRST;
        printf("Rita asks\n");
        check()
    :: asked == FIRST && TWO_QUESTIONS && ok && !kept && !(OWN_CONTENTS && refers) && made[RITA] < SIZE ->
        add(RITA, SECOND, 0, NONE);
        asked = SECOND;
        answers = 0;
        printf("Rita asks again\n");
        check()
    :: (asked == SECOND || asked == FIRST && !TWO_QUESTIONS) && ok && !kept && !(OWN_CONTENTS && refers) && !deleted ->
        deleted = 1;
        printf("Rita deletes the pack\n");
        check()
    :: else
    fi
}

/* A removed member makes no commit that counts; all that it made before do, as its bounds say. */
#define here(d) (!gone || d != DAN)
#define may_change(d, x) (locals < LOCALS && device[d].changes < EACH && device[d].unsent == NONE && is_content(x) && is_applied(d, x) && live(d, x))
#define changes(x) \
    :: d_step { here(me) && may_change(me, x) -> change(me, x, 0) } \
    :: d_step { here(me) && me != RITA && may_change(me, x) && refers_to_pack(x) -> change(me, x, 1) }

proctype Member(byte me) {
    do
    :: d_step { here(me) && me != 0 && device[me].applied[0] < made[0] -> apply(me, 0) }
    :: d_step { here(me) && me != 1 && device[me].applied[1] < made[1] -> apply(me, 1) }
    :: d_step { here(me) && me != 2 && device[me].applied[2] < made[2] -> apply(me, 2) }
    :: d_step { here(me) && device[me].due -> answer(me) }
    :: d_step { here(me) && device[me].unsent != NONE && sends < SENDS -> send_change(me) }
    :: d_step { here(me) && device[me].unsent == PARTLY && locals < LOCALS && device[me].changes < EACH -> overwrite(me) }
    :: d_step { here(me) && UNNAMED && !device[me].unnamed && locals < LOCALS -> open(me) }
    :: d_step { here(me) && me == RITA && !deleted -> go_on() }
    :: d_step { REMOVAL && me == DAN && !gone -> gone = 1 }
    changes(0)
    changes(1)
    changes(2)
    changes(3)
    changes(4)
    changes(5)
    changes(6)
    changes(7)
    changes(8)
    changes(9)
    changes(10)
    changes(11)
    changes(12)
    changes(13)
    changes(14)
    changes(START)
    od
}

/* Rita has replaced the first content and sent that; nobody else has applied it. */
init {
    d_step {
        commit[0].kind = CONTENT;
        commit[0].replaces = bit_of(START);
        made[RITA] = 1;
        device[RITA].applied[RITA] = 1;
        device[RITA].replaced = bit_of(START)
    }
    atomic {
        run Member(RITA);
        run Member(CAROL);
        run Member(DAN)
    }
}
