import MergeCases
import Testing

@Suite struct MergeTableTests {
    @Test("Every row of the merge table, in both orders of arrival", arguments: MergeCase.all, [false, true])
    func row(_ row: MergeCase, isReversed: Bool) throws {
        let remote = Remote()
        let users = ["owner", "member", "guest"].prefix(row.userCount).enumerated().map { index, name in
            ReplicaUser(name, label: "\(name)'s laptop", number: UInt64(index) + 1, remote)
        }
        try row.run(World(users, isReversed: isReversed))
    }
}
