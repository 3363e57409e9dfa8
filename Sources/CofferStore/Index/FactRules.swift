/// Rules that must hold between rows of the tables of facts.
///
/// Each query returns the items or entries that break the rule.
enum FactRules {
    static let all: [(text: String, query: String)] = [
        (
            "The first entry of an item belongs elsewhere: facts of item",
            """
            SELECT lower(hex(i.id)) FROM fact_items i LEFT JOIN fact_entries e ON e.id = i.first
            WHERE i.first IS NOT NULL AND (e.item IS NOT i.id OR e.flags & 16)
            """
        ),
        (
            "An entry is missing from its item: facts of entry",
            """
            SELECT lower(hex(e.id)) FROM fact_entries e LEFT JOIN fact_items i ON i.id = e.item
            WHERE e.item IS NOT NULL AND (i.id IS NULL OR (e.flags & 16 = 0 AND i.first IS NOT e.id))
            """
        ),
        (
            "The number of entries is wrong: facts of item",
            """
            SELECT lower(hex(i.id)) FROM fact_items i LEFT JOIN
            (SELECT item, count(*) AS n FROM fact_entries WHERE flags & 16 GROUP BY item) c ON c.item = i.id
            WHERE i.others <> coalesce(c.n, 0)
            """
        ),
        (
            "The number of shown entries is wrong: facts of item",
            """
            SELECT lower(hex(i.id)) FROM fact_items i LEFT JOIN
            (SELECT item, count(*) AS n FROM fact_entries WHERE shown IS NOT NULL OR flags & 256
            GROUP BY item) c ON c.item = i.id WHERE i.shown <> coalesce(c.n, 0)
            """
        ),
        (
            "The number of copies is wrong: facts of item",
            """
            SELECT lower(hex(i.id)) FROM fact_items i LEFT JOIN
            (SELECT copied, count(*) AS n FROM fact_entries WHERE copied IS NOT NULL GROUP BY copied) c
            ON c.copied = i.id WHERE i.copies <> coalesce(c.n, 0)
            """
        ),
        (
            "The number of extended attributes is wrong: facts of item",
            """
            SELECT lower(hex(i.id)) FROM fact_items i LEFT JOIN
            (SELECT item, count(*) AS n FROM fact_attributes GROUP BY item) c
            ON c.item = i.id WHERE i.attributes <> coalesce(c.n, 0)
            """
        ),
        (
            "Extended attributes belong to an unknown item: facts of item",
            """
            SELECT DISTINCT lower(hex(item)) FROM fact_attributes
            WHERE item NOT IN (SELECT id FROM fact_items)
            """
        ),
        (
            "A number belongs to a missing item, or to several: facts of item",
            """
            SELECT lower(hex(id)) FROM fact_items WHERE number IS NOT NULL
            AND ((number NOT IN (SELECT number FROM items) AND NOT EXISTS (SELECT 1 FROM journal))
            OR number IN (SELECT number FROM fact_items WHERE number IS NOT NULL
            GROUP BY number HAVING count(*) > 1))
            """
        ),
    ]
}
