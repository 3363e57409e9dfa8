internal import Glibc

/// Lets four users create files at the same time, and checks the owner of each.
func checkParallelUsers(_ box: Sandbox, filesEach: Int = 50) throws {
    try box.changeMode("", 0o777)
    let users = [User.alice, .bob, .nobody, User(uid: 10_003, gid: 10_004)]
    try actingAtOnce(as: users) { user in
        for index in 0..<filesEach {
            try box.create("u\(user.uid)-\(index)", "\(user.uid)")
            if index % 10 == 0 { try box.makeDirectory("d\(user.uid)-\(index)") }
        }
    }
    for user in users {
        for index in 0..<filesEach {
            let status = try box.status("u\(user.uid)-\(index)")
            try expectEqual(status.owner, user.uid, "owner of u\(user.uid)-\(index)")
            try expectEqual(status.group, user.gid, "group of u\(user.uid)-\(index)")
            try expectEqual(try box.text("u\(user.uid)-\(index)"), "\(user.uid)", "contents")
        }
        try expectEqual(try box.status("d\(user.uid)-0").owner, user.uid, "owner of a directory")
    }
}
