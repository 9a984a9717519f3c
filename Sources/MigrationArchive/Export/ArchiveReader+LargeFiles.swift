import MigrationSystem
import MigrationWire

/// The parts of large files, which several readers read at once.
extension ArchiveReader {
  /// How far ahead a large file is requested from the disk.
  private static var distance: UInt64 { 4 << 20 }

  /// Continues reading the current file until the frame is full; false then.
  func readFile() -> Bool {
    guard let (number, file, rest) = file else { return true }
    guard let part = rest ?? take(from: file, number) else {
      leave(file, number)
      return true
    }
    if packer.isRefused(file.record) {
      // For a file that the destination cannot hold, only the record is sent.
      packer.skip(UInt64(part.range.count))
      self.file?.rest = nil
    } else if part.isHole {
      guard packer.hasRoom(for: 0) else { return keep(part) }
      packer.addHole(place(of: part.range, in: file, isHole: true))
      file.note(frame: packer.frameNumber)
      self.file?.rest = nil
    } else {
      let end = min(part.range.upperBound, part.range.lowerBound + UInt64(packer.sizes.chunk))
      guard packer.hasRoom(for: end - part.range.lowerBound) else { return keep(part) }
      addChunk(part.range.lowerBound..<end, of: part, in: file)
      self.file?.rest =
        end < part.range.upperBound ? LargeFile.Part(range: end..<part.range.upperBound, isHole: false) : nil
    }
    if file.isGivenUp { self.file?.rest = nil }
    return packer.hasRoom(for: 0)
  }

  private func keep(_ part: LargeFile<Place.File>.Part) -> Bool {
    file?.rest = part
    return false
  }

  /// The next part of a file that no other reader has taken. Asks the disk for the beginning of the
  /// part.
  private func take(from file: LargeFile<Place.File>, _ number: WorkList.FileNumber) -> LargeFile<Place.File>.Part? {
    guard let part = file.take() else { return nil }
    if !part.isHole {
      file.file.fetch(
        at: Int64(part.range.lowerBound), length: Int64(min(UInt64(part.range.count), Self.distance)))
    }
    return part
  }

  private func addChunk(_ range: Range<UInt64>, of part: LargeFile<Place.File>.Part, in file: LargeFile<Place.File>) {
    let next = range.lowerBound + Self.distance
    if next < part.range.upperBound {
      file.file.fetch(
        at: Int64(next), length: Int64(min(UInt64(packer.sizes.chunk), part.range.upperBound - next)))
    }
    do {
      let isThere = try packer.addChunk(place(of: range, in: file)) { memory throws(SystemError) in
        try file.file.readFully(at: Int64(range.lowerBound), into: &memory) == memory.count
      }
      if isThere { file.note(frame: packer.frameNumber) } else { file.end(.changed) }
    } catch {
      file.end(error.cause.map { .failed($0) } ?? .changed)
    }
  }

  /// Stops reading a file. The last reader checks whether the file is unchanged, and adds its
  /// record.
  private func leave(_ large: LargeFile<Place.File>, _ number: WorkList.FileNumber) {
    file = nil
    guard export.left(number) else { return }
    let item = large.item
    guard let batch = export.batch(item.batch) else { preconditionFailure("the file's item is not done") }
    do {
      if try !large.isGivenUp && !large.file.status().isSameState(as: large.before) { large.end(.changed) }
    } catch let error as SystemError {
      large.end(.failed(error))
    } catch {
      large.end(.changed)
    }
    let (outcome, lastFrame) = large.end
    switch outcome {
    case .complete:
      packer.addRecord(of: large.record)
      packer.leaveBehind(large.leftBehind)
      if batch.tree.nodes[item.index].isShared { export.sent(item, large.record.generation) }
      done(item)
    case .changed: changed(item, large.tries, lastFrame: lastFrame, in: batch)
    // Chunks of the file may be on their way; the receiver discards files that never become
    // complete.
    case .failed(let error): unsent(item, error, in: batch)
    }
  }

  private func place(of range: Range<UInt64>, in file: LargeFile<Place.File>, isHole: Bool = false) -> ChunkPlace {
    ChunkPlace(path: file.record.path, generation: file.record.generation, range: range, isHole: isHole)
  }
}
