/* Forks of the member chain: docs/model.md.
 *
 * The storage lets two links take one place, and shows each device any link and any commit at any time. Bob is an admin
 * who obeys no rule: he puts links after any link that he knows, also after one that a removal of his has overtaken. */

/* Rules of docs/trust.md ("Links", "Forks", "Epochs") and docs/protocol.md ("The lost side of a fork"). */
#ifndef LINK_NAMES_HASH      /* a link names the hash of the one before it, not only its number */
#define LINK_NAMES_HASH 1
#endif
#ifndef COMMIT_NAMES_HASH    /* so does a commit of its link */
#define COMMIT_NAMES_HASH 1
#endif
#ifndef KEEP_LAST            /* a chain that is shorter than the known one is refused */
#define KEEP_LAST 1
#endif
#ifndef REMOVAL_STANDS       /* a removal stands against links by the removed member */
#define REMOVAL_STANDS 1
#endif
#ifndef AGAINST_REMOVED_ONLY /* and against no others: all links that it would replace are by that member */
#define AGAINST_REMOVED_ONLY 1
#endif
#ifndef REMOVED_STAYS_OUT    /* a link by one whom the known chain has removed replaces nothing */
#define REMOVED_STAYS_OUT 1
#endif
#ifndef FORKS_NAMED          /* other forks are named */
#define FORKS_NAMED 1
#endif
#ifndef KEY_BY_COMMITMENT    /* the commitment, not the number of the epoch, tells whether a key is the chain's */
#define KEY_BY_COMMITMENT 1
#endif
#ifndef MAKE_AGAIN           /* who takes the other side makes its commits of the lost side again */
#define MAKE_AGAIN 1
#endif
#ifndef DROP_LOST            /* and gives up what others wrote there */
#define DROP_LOST 1
#endif

/* Scope. */
#ifndef LINKS                /* links, link 0 included */
#define LINKS 4
#endif
#ifndef COMMITS
#define COMMITS 2
#endif
#ifndef OVERTAKEN_COME_BACK  /* 1: what no rule ensures, docs/model.md, “What the models found” */
#define OVERTAKEN_COME_BACK 0
#endif
#ifndef CAROL_ACTS           /* whether Carol, the other admin, makes links */
#define CAROL_ACTS 1
#endif

#define PEOPLE 4
#define ANN 0    /* owner */
#define BOB 1    /* admin */
#define CAROL 2  /* admin */
#define DAN 3    /* writer */

#define REMOVE 1
#define ROTATE 2

#define bit_of(x) (1 << (x))

/* All links that anybody has signed. A link stands for its hash, and for the key that it begins. */
typedef Link {
    byte op;
    byte signer;
    byte subject;
    byte number;
    byte before;  /* the link that it follows */
    byte wraps
};
Link link[LINKS];
byte total;

typedef Commit { byte author; byte named; byte key };
Commit commit[COMMITS + 1];
byte count;

typedef Device {
    byte length;
    byte at[LINKS];  /* the chain that it knows */
    byte key;        /* what it seals with: the link that began it */
    byte shown;      /* links that it was shown, and could compare */
    byte had;        /* links that its chain has had */
    byte overtaken;  /* of these, links that it gave up for a removal of their signer */
    byte accepted;   /* commits that it has applied */
    bit alarm;       /* a fork is named */
    bit met          /* ghost: it was shown a link or a commit of another history */
};
Device device[PEOPLE];

hidden byte i, j, l, m, n, p, q, s, ok, known, fits, lost, last;
hidden byte out;    /* who is no member any more */
hidden byte epochs; /* how many epochs a chain has begun */
hidden byte began;  /* the link that began the last one */

#define admin(person) (person != DAN)

/* The state after the first links of a device's chain; sets out, epochs, and began. */
inline replay(d, length_) {
    out = 0;
    epochs = 0;
    began = 0;
    for (i : 1 .. LINKS - 1) {
        if
        :: i < (length_) ->
            m = device[d].at[i];
            epochs++;
            began = m;
            if :: link[m].op == REMOVE -> out = out | bit_of(link[m].subject) :: else fi
        :: else
        fi
    }
}

/* Whether a link is permitted after a state: docs/trust.md, “Rights”. */
inline permit(signer_, op_, subject_) {
    ok = admin(signer_) && !(out & bit_of(signer_));
    if
    :: op_ == REMOVE && (signer_ == subject_ || (out & bit_of(subject_)) || subject_ == ANN) -> ok = 0
    :: else
    fi
}

/* Whether somebody can open the key that a link began: from a wrap of it, or of a later key that seals it. */
inline opens(person, start) {
    known = (start) == 0;
    for (i : 1 .. LINKS - 1) {
        if
        :: i < total && (link[i].wraps & bit_of(person)) ->
            m = i;
            for (j : 1 .. LINKS - 1) {
                if
                :: m == (start) -> known = 1
                :: else -> m = link[m].before
                fi
            }
        :: else
        fi
    }
}

inline check() {
    for (p : 0 .. PEOPLE - 1) {
        if
        :: p != BOB ->
            replay(p, device[p].length);
            /* 2. What a device applied, it applied under its own history. */
            for (n : 0 .. COMMITS) {
                if
                :: n < count && ((device[p].accepted & bit_of(n)) || commit[n].author == p) ->
                    l = commit[n].named;
                    /* 3. for its own commits: they count for those who have the same history. */
                    assert(link[l].number < device[p].length && device[p].at[link[l].number] == l)
                :: else
                fi
            }
            for (l : 1 .. LINKS - 1) {
                if
                :: l < total && link[l].op == REMOVE ->
                    s = link[l].number;
                    ok = s < device[p].length && device[p].at[s] == l;
                    /* 4. No removal is undone, but by a history that removes its signer. */
                    if
                    :: (device[p].had & bit_of(l)) && !ok ->
                        assert((out & bit_of(link[l].signer)) ||
                            (!OVERTAKEN_COME_BACK && (device[p].overtaken & bit_of(l))))
                    :: else
                    fi;
                    /* 4. It stands against links that only the removed member has made. */
                    if
                    :: (device[p].shown & bit_of(l)) && !ok && s < device[p].length &&
                        !(out & bit_of(link[l].signer)) ->
                        known = 1;
                        for (i : 1 .. LINKS - 1) {
                            if
                            :: i >= s && i < device[p].length && link[device[p].at[i]].signer != link[l].subject ->
                                known = 0
                            :: else
                            fi
                        }
                        assert(!known)
                    :: else
                    fi
                :: else
                fi
            }
            /* 4. Who has met another history names it. */
            assert(device[p].alarm || !device[p].met);
            /* 2. One last link, one history. */
            for (q : 0 .. PEOPLE - 1) {
                if
                :: q != BOB && device[q].length == device[p].length &&
                    device[q].at[device[q].length - 1] == device[p].at[device[p].length - 1] ->
                    for (i : 1 .. LINKS - 1) {
                        if
                        :: i < device[p].length -> assert(device[q].at[i] == device[p].at[i])
                        :: else
                        fi
                    }
                :: else
                fi
            }
        :: else
        fi
    }
}

/* A device has another last link: it opens the key that this link began. */
inline open_key(d) {
    replay(d, device[d].length);
    n = 0;
    for (i : 1 .. LINKS - 1) {
        /* The number of the epoch of the key that it has. */
        if :: device[d].key == i -> n = link[i].number :: else fi
    }
    if
    :: (KEY_BY_COMMITMENT || epochs > n) && (link[began].wraps & bit_of(d)) -> device[d].key = began
    :: else
    fi
}

/* Somebody signs a link after another one. */
inline sign(signer_, op_, subject_, before_, number_) {
    link[total].op = op_;
    link[total].signer = signer_;
    link[total].subject = subject_;
    link[total].before = before_;
    link[total].number = number_;
    link[total].wraps = 15 & ~out;
    if
    :: op_ == REMOVE -> link[total].wraps = link[total].wraps & ~bit_of(subject_)
    :: else
    fi;
    printf("%d signs link %d at place %d after link %d: operation %d of %d\n", signer_, total, number_, before_, op_,
        subject_);
    total++
}

/* A member who obeys the rules puts a link after those that its device knows. */
inline change(d, op_, subject_) {
    if
    :: total < LINKS ->
        replay(d, device[d].length);
        permit(d, op_, subject_);
        if
        :: ok && device[d].key == began ->
            sign(d, op_, subject_, device[d].at[device[d].length - 1], device[d].length);
            device[d].at[device[d].length] = total - 1;
            device[d].length++;
            device[d].had = device[d].had | bit_of(total - 1);
            device[d].shown = device[d].shown | bit_of(total - 1);
            open_key(d);
            check()
        :: else
        fi
    :: else
    fi
}

/* Bob puts a link after any link; only one that is permitted there is of use to him. */
inline intrude(after, op_, subject_) {
    if
    :: total < LINKS && (after) < total ->
        out = 0;
        m = after;
        for (i : 1 .. LINKS - 1) {
            if :: m != 0 && link[m].op == REMOVE -> out = out | bit_of(link[m].subject) :: else fi;
            m = link[m].before
        }
        permit(BOB, op_, subject_);
        if
        :: ok && link[after].number + 1 < LINKS ->
            s = link[after].number + 1;
            sign(BOB, op_, subject_, after, s);
            check()
        :: else
        fi
    :: else
    fi
}

/* A device takes a link for its place, instead of what it has there and after it. */
inline adopt(d, l_) {
    for (i : 1 .. LINKS - 1) {
        if
        :: i >= link[l_].number && i < device[d].length ->
            if
            :: link[device[d].at[i]].signer == link[l_].subject ->
                device[d].overtaken = device[d].overtaken | bit_of(device[d].at[i])
            :: else
            fi;
            device[d].at[i] = 0
        :: else
        fi
    }
    device[d].at[link[l_].number] = l_;
    device[d].length = link[l_].number + 1;
    device[d].had = device[d].had | bit_of(l_);
    /* The fork is settled, and no longer named. What was compared with the lost links is compared again. */
    device[d].shown = bit_of(l_);
    device[d].alarm = 0;
    device[d].met = 0;
    open_key(d);
    for (n : 0 .. COMMITS) {
        if
        :: n < count ->
            l = commit[n].named;
            lost = !(link[l].number < device[d].length && device[d].at[link[l].number] == l);
            if
            :: lost && commit[n].author == d && MAKE_AGAIN ->
                commit[n].named = l_;
                commit[n].key = device[d].key;
                /* Others have the old commit in its place. */
                for (i : 0 .. PEOPLE - 1) { device[i].accepted = device[i].accepted & ~bit_of(n) }
            :: lost && commit[n].author != d && DROP_LOST ->
                device[d].accepted = device[d].accepted & ~bit_of(n)
            :: else
            fi
        :: else
        fi
    }
}

/* The storage shows a device a link. */
inline show_link(d, l_) {
    if
    :: (l_) < total ->
        s = link[l_].number;
        if
        :: s <= device[d].length && (s == device[d].length || device[d].at[s] != (l_)) &&
            (device[d].at[s - 1] == link[l_].before || !LINK_NAMES_HASH) ->
            replay(d, s);
            permit(link[l_].signer, link[l_].op, link[l_].subject);
            if
            :: ok && s == device[d].length ->
                device[d].at[s] = l_;
                device[d].length++;
                device[d].had = device[d].had | bit_of(l_);
                device[d].shown = device[d].shown | bit_of(l_);
                open_key(d);
                printf("%d appends link %d\n", d, l_);
                check()
            :: ok && s < device[d].length && device[d].at[s - 1] == link[l_].before ->
                device[d].shown = device[d].shown | bit_of(l_);
                /* Of the known links: whether all are by the one whom the other link removes. */
                fits = link[l_].op == REMOVE && link[device[d].at[s]].signer == link[l_].subject;
                for (i : 1 .. LINKS - 1) {
                    if
                    :: AGAINST_REMOVED_ONLY && i >= s && i < device[d].length &&
                        link[device[d].at[i]].signer != link[l_].subject -> fits = 0
                    :: else
                    fi
                }
                replay(d, device[d].length);
                if
                :: REMOVED_STAYS_OUT && (out & bit_of(link[l_].signer)) -> fits = 0
                :: else
                fi;
                if
                :: fits && REMOVAL_STANDS ->
                    /* 4. Nobody returns by a link of its own. */
                    assert(!(out & bit_of(link[l_].signer)));
                    printf("%d takes link %d for link %d\n", d, l_, device[d].at[s]);
                    adopt(d, l_)
                :: else ->
                    device[d].met = 1;
                    device[d].alarm = FORKS_NAMED;
                    printf("%d names the fork of links %d and %d\n", d, device[d].at[s], l_)
                fi;
                check()
            :: else
            fi
        :: else
        fi
    :: else
    fi
}

/* The storage shows a device a chain without its last link. */
inline roll_back(d) {
    if
    :: !KEEP_LAST && device[d].length > 1 ->
        device[d].length--;
        device[d].at[device[d].length] = 0;
        open_key(d);
        printf("%d takes a shorter chain\n", d);
        check()
    :: else
    fi
}

/* A device makes a commit. */
inline write(d) {
    replay(d, device[d].length);
    if
    :: count < COMMITS && !(out & bit_of(d)) && (device[d].key == began || !KEY_BY_COMMITMENT) ->
        commit[count].author = d;
        commit[count].named = device[d].at[device[d].length - 1];
        commit[count].key = device[d].key;
        last = out;
        printf("%d writes commit %d, which names link %d, under the key of link %d\n", d, count, commit[count].named,
            device[d].key);
        count++;
        /* 1. Nobody whom its history has removed can read it. */
        for (p : 0 .. PEOPLE - 1) {
            if
            :: last & bit_of(p) -> opens(p, device[d].key); assert(!known)
            :: else
            fi
        }
        check()
    :: else
    fi
}

/* The storage shows a device a commit. */
inline show_commit(d, c_) {
    if
    :: (c_) < count && commit[c_].author != d && !(device[d].accepted & bit_of(c_)) ->
        l = commit[c_].named;
        s = link[l].number;
        if
        :: s < device[d].length ->
            if
            :: device[d].at[s] == l || !COMMIT_NAMES_HASH ->
                device[d].accepted = device[d].accepted | bit_of(c_);
                printf("%d applies commit %d\n", d, c_)
            :: else ->
                device[d].alarm = 1;
                printf("%d names commit %d of another history\n", d, c_)
            fi;
            device[d].met = device[d].met || device[d].at[s] != l;
            check()
        :: else
        fi
    :: else
    fi
}

proctype Member(byte me) {
    do
    :: d_step { total > 1 -> show_link(me, 1) }
    :: d_step { total > 2 -> show_link(me, 2) }
    :: d_step { total > 3 -> show_link(me, 3) }
    :: d_step { !KEEP_LAST && device[me].length > 1 -> roll_back(me) }
    :: d_step { me != ANN && count < COMMITS -> write(me) }
    :: d_step { count > 0 -> show_commit(me, 0) }
    :: d_step { count > 1 -> show_commit(me, 1) }
    :: d_step { (me == ANN || me == CAROL && CAROL_ACTS) && total < LINKS -> change(me, REMOVE, BOB) }
    :: d_step { (me == ANN || me == CAROL && CAROL_ACTS) && total < LINKS -> change(me, REMOVE, DAN) }
    :: d_step { me == CAROL && CAROL_ACTS && total < LINKS -> change(me, ROTATE, BOB) }
    od
}

proctype Malicious() {
    do
    :: d_step { total < LINKS -> intrude(0, ROTATE, BOB) }
    :: d_step { total < LINKS -> intrude(0, REMOVE, CAROL) }
    :: d_step { total < LINKS && total > 1 -> intrude(1, ROTATE, BOB) }
    :: d_step { total < LINKS && total > 1 -> intrude(1, REMOVE, CAROL) }
    :: d_step { total < LINKS && total > 2 -> intrude(2, ROTATE, BOB) }
    :: d_step { total < LINKS && total > 2 -> intrude(2, REMOVE, CAROL) }
    od
}

init {
    d_step {
        total = 1;
        link[0].wraps = 15;
        for (i : 0 .. PEOPLE - 1) { device[i].length = 1 }
    }
    atomic {
        run Member(ANN);
        run Member(CAROL);
        run Member(DAN);
        run Malicious()
    }
}
