/// The additional tables of an index whose vault syncs (docs/format.md, "Tables of facts").
enum FactSchema {
    static let create = """
        CREATE TABLE fact_items (
            id BLOB PRIMARY KEY, number INTEGER, flags INTEGER NOT NULL, shown INTEGER NOT NULL,
            first BLOB, others INTEGER NOT NULL, copies INTEGER NOT NULL, attributes INTEGER NOT NULL,
            entry BLOB, united BLOB, kind_stamp BLOB, hash BLOB, facts BLOB NOT NULL) WITHOUT ROWID;
        CREATE INDEX fact_items_united ON fact_items (united) WHERE united IS NOT NULL;
        CREATE INDEX fact_items_put_back ON fact_items (id) WHERE flags & 12;
        CREATE TABLE fact_entries (
            id BLOB PRIMARY KEY, item BLOB, flags INTEGER NOT NULL, stamp BLOB,
            target BLOB, target_name BLOB, place BLOB, place_name BLOB, slot BLOB, slot_name BLOB,
            wanted BLOB, wanted_name BLOB, shown BLOB, shown_name BLOB,
            taken BLOB, taken_name BLOB, taken_item BLOB, copied BLOB, copied_dot BLOB,
            facts BLOB NOT NULL) WITHOUT ROWID;
        CREATE INDEX fact_entries_others ON fact_entries (item) WHERE flags & 16;
        CREATE INDEX fact_entries_place ON fact_entries (place, flags & 8, id) WHERE place IS NOT NULL;
        CREATE INDEX fact_entries_slot ON fact_entries (slot, slot_name) WHERE slot IS NOT NULL;
        CREATE INDEX fact_entries_wanted ON fact_entries (wanted, wanted_name) WHERE wanted IS NOT NULL;
        CREATE INDEX fact_entries_shown ON fact_entries (shown, shown_name) WHERE shown IS NOT NULL;
        CREATE INDEX fact_entries_target ON fact_entries (target) WHERE target IS NOT NULL;
        CREATE INDEX fact_entries_copied ON fact_entries (copied) WHERE copied IS NOT NULL;
        CREATE INDEX fact_entries_changed ON fact_entries (id) WHERE flags & 32;
        CREATE TABLE fact_attributes (
            item BLOB NOT NULL, name BLOB NOT NULL, facts BLOB NOT NULL,
            PRIMARY KEY (item, name)) WITHOUT ROWID;
        CREATE TABLE logs (id BLOB PRIMARY KEY, sequence INTEGER NOT NULL, label BLOB) WITHOUT ROWID;
        CREATE TABLE fact_state (
            one INTEGER PRIMARY KEY CHECK (one = 1), clock INTEGER NOT NULL, hash BLOB NOT NULL,
            journal INTEGER NOT NULL);
        CREATE TABLE journal (seq INTEGER PRIMARY KEY, record BLOB NOT NULL);
        CREATE TABLE unsent (item INTEGER PRIMARY KEY);
        CREATE TABLE kept (
            kind INTEGER NOT NULL, id BLOB NOT NULL, number INTEGER NOT NULL, value BLOB NOT NULL,
            PRIMARY KEY (kind, id, number)) WITHOUT ROWID;
        """
}
