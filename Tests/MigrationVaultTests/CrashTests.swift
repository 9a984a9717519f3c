import Expectations
import MigrationCredentials
import MigrationSystem
import MigrationWire
import TestSupport
import Testing

@testable import MigrationVault

/// A process that may make some changes. After its end it makes no more changes.
private final class Life: Sendable {
  private let left: Mutex<Int>

  init(changes: Int) { left = Mutex(changes) }

  /// Counts a coming change; returns whether the process has ended before it.
  func isOver() -> Bool {
    left.withLock { left in
      left -= 1
      return left < 0
    }
  }

  var hasEnded: Bool { left.withLock { $0 < 0 } }
}

/// A process may end before any change of a file. Its operation is then done or not done, and the
/// next process finds a complete store.
@Suite struct CrashTests {
  private enum Operation: CaseIterable {
    case addFirst, add, replace, remove, removeLast, removeAll

    /// The items that an app can find afterwards, by labels.
    var outcomes: [Set<String>] {
      switch self {
      case .addFirst: [[], ["a"]]
      case .add: [["a"], ["a", "b"]]
      case .replace: [["a"], ["b"]]
      case .remove: [["a", "b"], ["b"]]
      case .removeLast: [["a"], []]
      case .removeAll: [["a", "b"], []]
      }
    }

    func prepare(_ home: Home) throws {
      if self != .addFirst { try home.add(password("a")) }
      if [.remove, .removeAll].contains(self) { try home.add(password("b")) }
    }

    func perform(_ vault: CredentialVault) throws(CredentialStatus) {
      if self == .removeAll {
        do { try vault.removeAll(of: notes) } catch { throw CredentialStatus(error) }
        return
      }
      try vault.locked { () throws(CredentialStatus) in
        let name = { () throws(CredentialStatus) in
          try vault.items(of: notes).first { $0.item.attributes[.label] == .text("a") }!.name
        }
        switch self {
        case .addFirst: try vault.add(password("a"), to: notes)
        case .add: try vault.add(password("b"), to: notes)
        case .replace: try vault.replace(name(), of: notes, with: password("b"))
        case .remove, .removeLast: try vault.remove(name(), of: notes)
        case .removeAll: break
        }
      }
    }
  }

  @Test func `a process may end before each change of each operation`() throws {
    for operation in Operation.allCases {
      var (count, isDone) = (0, false)
      while !isDone {
        let home = try Home()
        try operation.prepare(home)
        let life = Life(changes: count)
        let vault = home.vault { (_) throws(Failure) in
          if life.isOver() { throw Failure(.failed, "killed") }
        }
        let error = thrown { () throws(CredentialStatus) in try operation.perform(vault) }
        isDone = !life.hasEnded
        expect((error == nil), is: isDone)
        let labels = try Set(
          home.items().map { item in if case .text(let label) = item.attributes[.label] { label } else { "" } })
        expect(operation.outcomes.contains(labels), "\(operation) before change \(count): \(labels)")
        if isDone { expect(labels, is: operation.outcomes[1]) }
        // The store still works.
        try home.add(password("c"))
        expect(try home.items().count, is: labels.count + 1)
        count += 1
      }
      expect(count > 1, "\(operation) makes at least one change")
    }
  }

  @Test func `the rest of an interrupted write is not an item, and does not prevent a later write`() throws {
    let home = try Home()
    try home.add(password("a"))
    let file = home.files()[0]
    home.scratch.write("\(file).new", home.scratch.read(file).dropLast())
    expect(try home.items(), is: [password("a")])
    let vault = home.vault()
    try vault.locked { () throws(CredentialStatus) in
      let name = try vault.items(of: notes)[0].name
      try vault.replace(name, of: notes, with: password("b"))
      try vault.remove(name, of: notes)
    }
    expect(home.files(), is: [])
  }
}
