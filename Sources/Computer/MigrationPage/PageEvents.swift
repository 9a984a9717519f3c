package import MigrationSystem

/// The events of a run, for each page that reads them from the first one on. Any thread adds events.
package final class PageEvents: Sendable {
  /// The most bytes of events: beyond them, events about single items are left out.
  package static let most = 8 << 20

  private struct State {
    /// The number of the first line that is kept.
    var first = 0
    var lines: [[UInt8]] = []
    var bytes = 0
    /// The last line about progress, and its number among all lines about progress.
    var progress: (number: Int, line: [UInt8])?
    var progressCount = 0
  }

  private let state = Mutex(State())
  /// Ends the wait of the server.
  let wakeup: Wakeup

  package init() throws(SystemError) { wakeup = try Wakeup() }

  /// Forgets all lines: another run begins with this line.
  package func begin(with line: String) {
    state.withLock { state in
      state.first += state.lines.count
      (state.lines, state.bytes, state.progress) = ([], 0, nil)
    }
    add(line)
  }

  /// Adds a line, which has no end.
  package func add(_ line: String) {
    let bytes = Array(line.utf8) + [10]
    let isDetail = Self.details.contains { line.hasPrefix($0) }
    state.withLock { state in
      if isDetail, state.bytes + bytes.count > Self.most { return }
      state.lines.append(bytes)
      state.bytes += bytes.count
    }
    wakeup.signal()
  }

  /// Replaces the last line about progress.
  package func show(progress line: String) {
    state.withLock { state in
      state.progressCount += 1
      state.progress = (state.progressCount, Array(line.utf8) + [10])
    }
    wakeup.signal()
  }

  private static let details = ["notStored", "renamed", "extensionOutput"].map { "{\"event\":\"\($0)\"" }

  /// How far a reader has come.
  struct Cursor {
    var line = 0
    var progress = 0
  }

  /// The next bytes for a reader; empty if there are none yet.
  func next(_ cursor: inout Cursor, atMost most: Int) -> [UInt8] {
    state.withLock { state in
      var bytes: [UInt8] = []
      cursor.line = max(cursor.line, state.first)
      while cursor.line < state.first + state.lines.count, bytes.count < most {
        bytes += state.lines[cursor.line - state.first]
        cursor.line += 1
      }
      if let progress = state.progress, progress.number > cursor.progress, bytes.count < most {
        bytes += progress.line
        cursor.progress = progress.number
      }
      return bytes
    }
  }
}
