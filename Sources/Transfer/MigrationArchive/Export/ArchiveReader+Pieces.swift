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
      file.note(nil, at: piece.range)
      file.note(frame: packer.frameNumber)
      self.file?.rest = nil
    } else if piece.isHeld {
      goOn(with: piece, from: readHeld(piece, in: file))
    } else if file.comparable(piece) != nil {
      guard packer.hasRoom(for: 0) else { return keep(piece) }
      goOn(with: piece, from: addEqualBlocks(of: piece, in: file))
    } else {
      var end = min(piece.range.upperBound, piece.range.lowerBound + UInt64(packer.sizes.chunk))
      if file.isComparing { end = min(end, file.blockEnd(behind: piece.range.lowerBound)) }
      guard packer.hasRoom(for: end - piece.range.lowerBound) else { return keep(piece) }
      addChunk(piece.range.lowerBound..<end, of: piece, in: file)
      goOn(with: piece, from: end)
    }
    if file.isGivenUp { self.file?.rest = nil }
    return packer.hasRoom(for: 0)
  }

  private func goOn(with piece: LargeFile<Source.File>.Piece, from end: UInt64) {
    var rest = piece
    rest.range = end..<piece.range.upperBound
    file?.rest = rest.range.isEmpty ? nil : rest
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

  /// Compares blocks from the beginning of a piece on with those that the receiver has, and adds a
  /// piece of the base for the equal ones. Returns the end of these.
  private func addEqualBlocks(of piece: LargeFile<Source.File>.Piece, in file: LargeFile<Source.File>) -> UInt64 {
    var rest = piece
    var equal: (range: Range<UInt64>, lanes: PieceLanes)?
    func add() {
      guard let (range, lanes) = equal else { return }
      packer.addBase(place(of: range, in: file), lanes)
      file.note(frame: packer.frameNumber)
      equal = nil
    }
    while !export.isStopped, let block = file.comparable(rest) {
      guard let parts = lanes(of: block, in: file) else { break }
      let whole = parts.dropFirst().reduce(parts[0]) { whole, part in
        (
          whole.range.lowerBound..<part.range.upperBound,
          whole.lanes.joined(UInt64(whole.range.count), with: part.lanes, UInt64(part.range.count))
        )
      }
      let isEqual = file.base?.has(whole.lanes, at: block) == true
      file.noteCompared(block, isEqual: isEqual)
      guard isEqual else { break }
      for part in parts {
        file.note(part.lanes, at: part.range)
        if let (range, lanes) = equal, range.count + part.range.count <= Limits.chunk {
          equal = (
            range.lowerBound..<part.range.upperBound,
            lanes.joined(UInt64(range.count), with: part.lanes, UInt64(part.range.count))
          )
        } else {
          add()
          equal = part
        }
      }
      rest.range = block.upperBound..<piece.range.upperBound
      if rest.range.isEmpty || !packer.hasRoom(for: 0) || block.upperBound - piece.range.lowerBound >= Limits.chunk {
        break
      }
    }
    add()
    return rest.range.lowerBound
  }

  /// The lanes of the parts of a range, each inside of one block; nil if they cannot be read.
  private func lanes(
    of range: Range<UInt64>, in file: LargeFile<Source.File>
  ) -> [(range: Range<UInt64>, lanes: PieceLanes)]? {
    var parts: [(range: Range<UInt64>, lanes: PieceLanes)] = []
    var start = range.lowerBound
    do {
      while start < range.upperBound {
        guard !export.isStopped else { return nil }
        let end = min(range.upperBound, file.blockEnd(behind: start), start + UInt64(packer.sizes.chunk))
        let lanes = try packer.lanes(of: Int(end - start)) { memory throws(SystemError) in
          try file.file.readFully(at: Int64(start), into: &memory) == memory.count
        }
        guard let lanes else {
          file.end(.changed)
          return nil
        }
        parts.append((start..<end, lanes))
        start = end
      }
    } catch {
      file.end(.failed(error))
      return nil
    }
    return parts
  }

  /// Reads the beginning of a piece that the receiver has, for the list of blocks. Returns its end.
  private func readHeld(_ piece: LargeFile<Source.File>.Piece, in file: LargeFile<Source.File>) -> UInt64 {
    let end = min(piece.range.upperBound, piece.range.lowerBound + UInt64(packer.sizes.part))
    for (range, lanes) in lanes(of: piece.range.lowerBound..<end, in: file) ?? [] { file.note(lanes, at: range) }
    return end
  }

  private func addChunk(_ range: Range<UInt64>, of piece: LargeFile<Source.File>.Piece, in file: LargeFile<Source.File>)
  {
    let next = range.lowerBound + Self.distance
    if next < piece.range.upperBound {
      file.file.fetch(
        at: Int64(next), length: Int64(min(UInt64(packer.sizes.chunk), piece.range.upperBound - next)))
    }
    do {
      let isThere = try packer.addChunk(
        place(of: range, in: file),
        orHole: file.hasUntoldHoles || file.base != nil && file.before.allocatedBytes < file.before.size,
        parts: file.keepsSums ? file.parts : nil
      ) {
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
      if let sums = large.sums { export.settings.blocks?.keep(sums, of: large.record.path) }
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
