import MigrationSystem
import MigrationWire

/// What becomes of an item at the sender whose name, or earlier version, the destination has.
extension FramePacker {
  /// The action for a file or symbolic link, given the destination's report about its name.
  enum Answer: Equatable {
    case send
    case leftOut
    /// Only its time of change is new: its content is to be compared.
    case compare
  }

  /// Leaves a file or symbolic link out because of the existing entry with its name at the
  /// destination, or because of the file that arrived there. With `isWanted`, its unit needs it: it
  /// is sent, unless the destination keeps existing items.
  func answer(_ path: ArchivePath, _ status: FileStatus, target: [UInt8]? = nil, isWanted: Bool) -> Answer {
    let size = status.kind == .regular ? UInt64(status.size) : 0
    let isTaken = held.has(keys.takenMark(path: path), .taken)
    let mark = settings.presentMark(path, status, target: target)
    let own: ItemFate.Own = held.has(mark, .present) ? .equal : isTaken ? .entry : .free
    var earlier: ItemFate.Earlier?
    if held.has(mark, .removed) {
      earlier = ItemFate.Earlier(.same, .removed)
    } else if held.has(mark, .arrived) {
      guard !isWanted, settings.isInArrivedState(path, status) else { return isWanted ? .send : .compare }
      earlier = ItemFate.Earlier(.same, .untouched)
    }
    switch ItemFate(.leaf, earlier, own: own, existing: isTaken ? .skip : .merge).fate {
    case .present where isTaken || !isWanted, .known: leaveOut(size: size)
    case .removedHere where !isWanted: leaveOut(size: size, isRemoved: true)
    case .kept:
      sum.leftOut.differing += 1
      listener.unsent(NotStored(path: path.bytes, .existsAndDiffers))
      skip(size, items: 1)
    default: return .send
    }
    return .leftOut
  }

  /// The fate of a file of which only the time of change is new.
  func fate(of path: ArchivePath, _ status: FileStatus, _ sum: ContentSum) -> ItemFate.Fate {
    ItemFate(
      .leaf, ItemFate.Earlier(settings.hasArrivedContent(path, status, sum) ? .metadata : .content, .untouched),
      existing: .merge
    ).fate
  }

  /// Leaves out an item that the destination has, or had until it was removed there.
  func leaveOut(size: UInt64, isRemoved: Bool = false) {
    if isRemoved { sum.leftOut.removed += 1 } else { sum.leftOut.present += 1 }
    skip(size, items: 1)
  }
}
