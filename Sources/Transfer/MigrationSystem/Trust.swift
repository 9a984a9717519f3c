import CSystem
import Glibc

/// The rule for the files that this program obeys, and for the places where it keeps its user's
/// private data: only root and the user may change them, or put something else in their place.
///
/// A group without another member counts as the user. In a folder with the sticky bit, users cannot
/// replace the items of other users.
package struct Trust: Sendable {
  private let user: UInt32
  private let trusted: Set<UInt32>

  package init(_ user: UInt32 = CurrentProcess.effectiveUserID) {
    self.user = user
    // The owner of the root directory can replace everything. In a namespace of users without root,
    // that is another number.
    trusted = [0, user, (try? Directory.status(of: "/"))?.owner ?? 0]
  }

  /// The most links on the way to a directory, as for the kernel.
  private static let mostLinks = 40
  private static let slash = UInt8(ascii: "/")

  /// Looks for a directory that no other user may change, nor a folder above it, nor a link on the way;
  /// returns its path without links.
  ///
  /// - Parameters:
  ///   - path: absolute, or relative to the current directory.
  ///   - inside: the last names of the path, at which no link is followed.
  package func find(_ path: [UInt8], _ inside: [[UInt8]] = []) throws(Distrust) -> [UInt8] {
    var rest = Array((try whole(path) + inside).reversed())
    var (here, links) = ([Self.slash], 0)
    try check(try reached(here, Directory.status(of: here)), here, isAbove: !rest.isEmpty, hasList: false)
    while let name = rest.popLast() {
      if name == [UInt8(ascii: ".")] { continue }
      if name == Array("..".utf8) {
        here = FileContent.split(here).directory
        continue
      }
      let next = (here.count > 1 ? here : []) + [Self.slash] + name
      let found = try reached(next, Found(name, in: here))
      if let target = found.target, rest.count >= inside.count {
        links += 1
        guard links <= Self.mostLinks else { throw Distrust(next, .link) }
        guard trusted.contains(found.status.owner) else { throw Distrust(next, .owner, isAbove: true) }
        rest += Self.names(target).reversed()
        if target.first == Self.slash { here = [Self.slash] }
        continue
      }
      guard found.target == nil else { throw Distrust(next, .link) }
      try check(found.status, next, isAbove: !rest.isEmpty, hasList: found.hasList)
      here = next
    }
    return here
  }

  /// Opens a directory that `find` finds.
  package func open(_ path: [UInt8], _ inside: [[UInt8]] = []) throws(Distrust) -> Directory {
    let found = try find(path, inside)
    return try reached(found, Directory.open(found))
  }

  /// Reads a file of such a directory, without following a link, and without waiting for another
  /// process. `path` is the file's, for the error.
  package func read(
    _ name: [UInt8], in directory: borrowing Directory, at path: [UInt8], limit: Int
  ) throws(Distrust) -> [UInt8] {
    let file = try reached(path, directory.openChild(name, .anyKind))
    let status = try reached(path, file.status())
    guard status.kind == .regular else { throw Distrust(path, .otherKind) }
    let names = status.mode & Self.groupMayWrite == 0 ? [] : try reached(path, file.attributeNames())
    try check(status, path, isAbove: false, hasList: names.contains(Self.accessList))
    return try reached(path, file.readAll(limit: limit))
  }

  // MARK: The rule

  private static let groupMayWrite: UInt32 = 0o020
  private static let allMayWrite: UInt32 = 0o002
  private static let sticky: UInt32 = 0o1000
  /// If an item has this list, the group's mode bits limit the rights that the list gives.
  fileprivate static let accessList = Array("system.posix_acl_access".utf8)

  private func check(
    _ status: FileStatus, _ path: [UInt8], isAbove: Bool, hasList: Bool
  ) throws(Distrust) {
    guard trusted.contains(status.owner) else { throw Distrust(path, .owner, isAbove: isAbove) }
    if isAbove, status.mode & Self.sticky != 0 { return }
    if status.mode & Self.allMayWrite != 0 { throw Distrust(path, .everyone, isAbove: isAbove) }
    if status.mode & Self.groupMayWrite == 0 { return }
    if hasList { throw Distrust(path, .list, isAbove: isAbove) }
    if !isTrusted(group: status.group) { throw Distrust(path, .group, isAbove: isAbove) }
  }

  /// Whether a group has no other members. A list of users on a server need not show them all: there
  /// must be a member, or the group has the user's name.
  private func isTrusted(group: UInt32) -> Bool {
    guard let members = SystemAccounts.members(ofGroup: group), members.isSubset(of: trusted) else { return false }
    if !members.isEmpty { return true }
    let name = SystemAccounts.name(ofUser: user)
    return name != nil && SystemAccounts.name(ofGroup: group) == name
  }

  // MARK: Paths

  private static func names(_ path: [UInt8]) -> [[UInt8]] { path.split(separator: slash).map(Array.init) }

  private func whole(_ path: [UInt8]) throws(Distrust) -> [[UInt8]] {
    if path.first == Self.slash { return Self.names(path) }
    return Self.names(try reached(path, Directory.open(".").canonicalPath())) + Self.names(path)
  }

  /// An item on the way.
  private struct Found {
    let status: FileStatus
    /// The target of a link.
    let target: [UInt8]?
    let hasList: Bool

    init(_ name: [UInt8], in above: [UInt8]) throws(SystemError) {
      // A folder need not be readable for one below it.
      let folder = Directory(owning: try Descriptor.open(above, [.directory, .pathOnly]))
      status = try folder.status(name)
      target = status.kind == .symbolicLink ? try folder.readLink(name) : nil
      let mayHaveList = target == nil && status.mode & Trust.groupMayWrite != 0
      // Those who may write to it can also give it more names than the kernel lists.
      hasList = mayHaveList && (try? folder.attributeNames(of: name))?.contains(Trust.accessList) != false
    }
  }

  private func reached<Value: ~Copyable>(
    _ path: [UInt8], _ body: @autoclosure () throws(SystemError) -> Value
  ) throws(Distrust) -> Value {
    try SystemError.mapped(body()) { Distrust(path, $0.isSymbolicLink ? .link : .unreachable($0)) }
  }

  /// Why a file or a directory is not trusted.
  package struct Distrust: Error, Equatable, Sendable {
    /// The cause.
    package enum Reason: Equatable, Sendable {
      /// Another user owns it.
      case owner
      /// A group with other members may write to it.
      case group
      /// Its access list may let others write to it.
      case list
      /// All users may write to it.
      case everyone
      /// It is a link.
      case link
      /// It is no file.
      case otherKind
      /// It cannot be read.
      case unreachable(SystemError)
    }

    /// The file or directory that is the cause: the named item, or an item above it, without links.
    package let path: [UInt8]
    package let reason: Reason
    /// Whether the cause is above the named item.
    package let isAbove: Bool

    init(_ path: [UInt8], _ reason: Reason, isAbove: Bool = false) {
      self.path = path
      self.reason = reason
      self.isAbove = isAbove
    }

    /// Whether the path does not exist.
    package var isMissing: Bool { if case .unreachable(let error) = reason { error.isNotFound } else { false } }

    /// A clause that follows the path.
    package var clause: String {
      switch reason {
      case .owner: "belongs to another user"
      case .group: "can be changed by a group"
      case .list: "can be changed by those on its access list"
      case .everyone: "can be changed by every user"
      case .link: "is a link"
      case .otherKind: "is not a regular file"
      case .unreachable(let error): "cannot be read: \(error.words)"
      }
    }
  }
}

extension OpenFlags {
  /// Only to look names up in it.
  static let pathOnly = OpenFlags(rawValue: csystem_open_path)
}
