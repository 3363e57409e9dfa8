import Foundation
import Testing

extension MountTests {
    /// An idle mount.
    @Suite struct RestTests {
        /// Waits for two seconds in which the process uses no processor time; a mount that polls
        /// never gets there.
        private func comesToRest(_ process: pid_t) -> Bool {
            for _ in 0..<60 {
                let before = Processes.ticks(process)
                sleep(2)
                if Processes.ticks(process) == before { return true }
            }
            return false
        }

        @Test func idleMountUsesNoProcessor() throws {
            try withMountedProfile { profile in
                let process: pid_t = try #require(profile.process)
                try Files.write(pattern(3 << 20), to: profile.path("file"))
                try Files.write("text", to: profile.path("other"))
                #expect(comesToRest(process))
            }
        }

        /// No thread wakes up periodically: the number of context switches stays the same.
        @Test func idleMountSleeps() throws {
            try withMountedProfile { profile in
                let process: pid_t = try #require(profile.process)
                try Files.write("text", to: profile.path("file"), durably: true)
                #expect(
                    (0..<60).contains { _ in
                        let before = Self.switches(process)
                        sleep(2)
                        return Self.switches(process) == before
                    })
            }
        }

        /// The number of context switches of all threads.
        private static func switches(_ process: pid_t) -> Int {
            let tasks = (try? Files.names("/proc/\(process)/task")) ?? []
            return tasks.reduce(0) { sum, task in
                let lines = ((try? Files.text("/proc/\(process)/task/\(task)/status")) ?? "").split(
                    separator: "\n")
                return sum
                    + lines.filter { $0.contains("ctxt_switches") }
                    .compactMap { $0.split(separator: "\t").last.flatMap { Int($0) } }.reduce(0, +)
            }
        }
    }
}
