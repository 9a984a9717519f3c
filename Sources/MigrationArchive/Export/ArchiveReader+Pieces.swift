import MigrationSystem
import MigrationWire

/// The pieces of large files, which several readers read at once.
extension ArchiveReader {
  /// The bytes of a large file that are requested from the disk in advance.
  private static var distance: UInt64 { 4 << 20 }

  /// Continues reading the current file until the frame is full; false then.
  func readFile() -> Bool {
    guard let (number, file, rest) = file else { return true }
    guard let piece = rest ?? take(from: file, number) else {
      leave(file, number)
      return true
    }
    if packer.isRefused(file.record) {
      // For a file that the destination cannot hold, only the record is sent.
      packer.skip(UInt64(piece.range.count))
      self.file?.rest = nil
    } else if piece.isHole {
      guard packer.hasRoom(for: 0) else { return keep(piece) }
      packer.addHole(place(of: piece.range, in: file, isHole: true))
      file.note(frame: packer.frameNumber)
      self.file?.rest = nil
    } else {
      let end = min(piece.range.upperBound, piece.range.lowerBound + UInt64(packer.sizes.chunk))
      guard packer.hasRoom(for: end - piece.range.lowerBound) else { return keep(piece) }
      addChunk(piece.range.lowerBound..<end, of: piece, in: file)
      self.file?.rest =
        end < piece.range.upperBound ? LargeFile.Piece(range: end..<piece.range.upperBound, isHole: false) : nil
    }
    if file.isGivenUp { self.file?.rest = nil }
    return packer.hasRoom(for: 0)
  }

  private func keep(_ piece: LargeFile<Source.File>.Piece) -> Bool {
    file?.rest = piece
    return false
  }

  /// The next piece of a file that no other reader has taken. Asks the disk for the beginning of
  /// the piece.
  private func take(from file: LargeFile<Source.File>, _ number: WorkList.FileNumber) -> LargeFile<Source.File>.Piece? {
    guard let piece = file.take() else { return nil }
    if !piece.isHole {
      file.file.fetch(
        at: Int64(piece.range.lowerBound), length: Int64(min(UInt64(piece.range.count), Self.distance)))
    }
    return piece
  }

  private func addChunk(_ range: Range<UInt64>, of piece: LargeFile<Source.File>.Piece, in file: LargeFile<Source.File>)
  {
    let next = range.lowerBound + Self.distance
    if next < piece.range.upperBound {
      file.file.fetch(
        at: Int64(next), length: Int64(min(UInt64(packer.sizes.chunk), piece.range.upperBound - next)))
    }
    do {
      let isThere = try packer.addChunk(place(of: range, in: file), orHole: file.hasUntoldHoles) {
        memory throws(SystemError) in
        try file.file.readFully(at: Int64(range.lowerBound), into: &memory) == memory.count
      }
      if isThere { file.note(frame: packer.frameNumber) } else { file.end(.changed) }
    } catch {
      file.end(error.cause.map { .failed($0) } ?? .changed)
    }
  }

  /// Stops reading a file. The last reader checks whether the file is unchanged, and adds its
  /// record.
  private func leave(_ large: LargeFile<Source.File>, _ number: WorkList.FileNumber) {
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
      packer.leaveBehind(large.lostAttributes)
      if batch.tree.nodes[item.index].isShared { export.sent(item, large.record.generation) }
      if batch.isCaptured(item.index) { export.captured(item, large.record.generation) }
      done(item)
    case .changed: changed(item, large.tries, lastFrame: lastFrame, in: batch)
    // Chunks of the file may be on their way; the receiver discards files that never become
    // complete.
    case .failed(let error): unsent(item, error, in: batch)
    }
  }

  private func place(of range: Range<UInt64>, in file: LargeFile<Source.File>, isHole: Bool = false) -> FilePiece {
    FilePiece(path: file.record.path, generation: file.record.generation, range: range, isHole: isHole)
  }
}
