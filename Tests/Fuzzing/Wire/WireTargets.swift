import FuzzDriver
import MigrationWire

extension FuzzTarget {
  /// Bytes on a connection, and the names in them.
  static let wire = [
    FuzzTarget("frames", "frames in a stream of bytes", longest: 256) { input in
      FrameCheck(input).run()
    },
    FuzzTarget("messages", "every message of the control connection", longest: 512) { input in
      guard let type = input.first else { return }
      checkMessage(FrameType(rawValue: type), Array(input.dropFirst()))
    },
    FuzzTarget("streams", "every frame of a data stream, and the entries in it", longest: 512) { input in
      guard let type = input.first else { return }
      checkStreamMessage(FrameType(rawValue: type), Array(input.dropFirst()))
    },
    FuzzTarget("paths", "paths, and names that are shown", longest: 300) { checkPath(Array($0)) },
    FuzzTarget("relays", "the frames of a relay, and typed codes and tokens", longest: 512) { checkRelay(Array($0)) },
  ]
}

/// Feeds a decoder in parts whose length is the input's first byte: whole frames come out, written
/// again they are the bytes that went in, and the decoder keeps no more than it was given.
private struct FrameCheck {
  private let bytes: [UInt8]
  private let step: Int
  private var decoder = FrameDecoder()
  /// The frames so far, written again.
  private var written = ByteWriter()

  init(_ input: ArraySlice<UInt8>) {
    step = 1 + Int(input.first ?? 0)
    bytes = Array(input.dropFirst())
    written.reserve(bytes.count)
  }

  consuming func run() {
    var fed = 0
    while fed < bytes.count {
      let end = min(fed + step, bytes.count)
      let new = bytes[fed..<end]
      decoder.append(new.span)
      fed = end
      guard takeAll(upTo: fed) else { break }
    }
    promise(bytes.starts(with: written.bytes), "a frame is written differently")
  }

  /// Takes the frames that are whole; false after one that is refused.
  private mutating func takeAll(upTo fed: Int) -> Bool {
    do throws(Violation) {
      while let frame = try decoder.next() {
        FrameHeader(type: frame.type, length: frame.body.count).write(to: &written)
        let body = decoder.bytes[frame.body]
        written.array(body.span)
        promise(written.bytes.count <= fed, "a frame is longer than what came")
      }
      promise(decoder.bytes.count <= bytes.count + step, "the decoder keeps \(decoder.bytes.count) bytes")
      return true
    } catch {
      promise(written.bytes.count + Limits.frameHeader <= fed, "a header is refused that has not come")
      return false
    }
  }
}

/// A message has one encoding. A plan continues itself.
private func checkMessage(_ type: FrameType, _ body: [UInt8]) {
  let message: ControlMessage?
  do throws(Violation) {
    message = try ControlMessage(type, body.span, 0..<body.count)
  } catch { return }
  guard let message else { return promise(type.mayBeIgnored, "a message of this version is skipped") }
  let frame = message.frame
  promise(frame.count == Limits.frameHeader + body.count && frame[0] == type.rawValue, "a message has another length")
  promise(frame[Limits.frameHeader...].elementsEqual(body), "a message is written differently")
  if case .plan(let plan) = message {
    promise(plan.continues(plan), "a plan does not continue itself")
    promise((1...Limits.parts).contains(plan.parts.count), "a plan has \(plan.parts.count) parts")
  }
}

/// A frame of a data stream has one encoding, and so have the entries of a DATA frame.
private func checkStreamMessage(_ type: FrameType, _ body: [UInt8]) {
  let message: StreamMessage?
  do throws(Violation) {
    message = try StreamMessage(type, body.span, 0..<body.count)
  } catch { return }
  guard let message else { return promise(type.mayBeIgnored, "a frame of this version is skipped") }
  var payload: ArraySlice<UInt8> = []
  if case .data(let header) = message {
    payload = body[Limits.dataHeader...]
    if header.encoding == .plain { checkEntries(body, Limits.dataHeader..<body.count) }
  }
  let frame = message.frame(payload: payload.count) + payload
  promise(
    frame[0] == type.rawValue && frame[Limits.frameHeader...].elementsEqual(body), "a frame is written differently")
}

private func checkEntries(_ bytes: [UInt8], _ range: Range<Int>) {
  var reader = EntryReader(range)
  var writer = ByteWriter()
  do throws(Violation) {
    while let entry = try reader.next(bytes.span) {
      switch entry {
      case .item(let record, let content):
        EntryWriter.item(record, to: &writer)
        guard let content else { continue }
        EntryWriter.content(length: content.data.count, content.check, to: &writer)
        writer.array(Array(bytes[content.data]))
      case .chunk(let place, let check, let data):
        EntryWriter.place(place, check, to: &writer)
        writer.array(Array(bytes[data]))
      case .hole(let place, let check): EntryWriter.place(place, check, to: &writer)
      case .base(let place, let check, let lanes): EntryWriter.base(place, check, lanes, to: &writer)
      }
    }
  } catch { return }
  promise(writer.bytes.elementsEqual(bytes[range]), "entries are written differently")
}

/// A frame of a relay has one encoding; an unknown reason counts as another one. What a person types
/// is read as it is shown.
private func checkRelay(_ bytes: [UInt8]) {
  if let frame = read({ try RelayFrame(bytes.span) }) {
    let reason = [0x07: RelayFrame.headerSize + 4, 0x0F: RelayFrame.headerSize][bytes[0]]
    let isOther = reason.map { RelayRefusal(rawValue: bytes[$0]) == nil } ?? false
    promise(isOther || frame.bytes == bytes, "a frame of a relay is written differently")
    let length = read { try RelayFrame.length(bytes.span.extracting(first: RelayFrame.headerSize)) }
    promise(length == bytes.count && bytes.count <= RelayFrame.longest, "a frame of a relay has another length")
  }
  if let typed = try? TypedCode(typed: bytes.span), let place = typed.place {
    let again = try? TypedCode(typed: Array(place.shown(with: typed.code).utf8).span)
    promise(again == typed, "a code is shown differently")
  }
  if let token = RelayToken(typed: bytes) {
    promise(RelayToken(typed: Array(token.text.utf8)) == token, "a token is shown differently")
  }
}

/// A path has exactly the given bytes, and its parts put together are the path. Any bytes that are
/// shown have nothing unsafe in them.
private func checkPath(_ bytes: [UInt8]) {
  for shown in [VisibleText.of(bytes), VisibleText.quoted(bytes), VisibleText.listed(bytes)] {
    promise(!shown.unicodeScalars.contains(where: VisibleText.isUnsafe), "something unsafe is shown")
    promise(shown.utf8.count <= 12 * bytes.count + 4, "what is shown is too long")
  }
  guard let path = read({ try ArchivePath(bytes) }) else { return }
  promise(path.bytes == bytes, "a path has other bytes")
  promise(path.depth == path.components.count && path.depth <= Limits.depth, "a path has another depth")
  promise(path.components.joined(separator: [UInt8(ascii: "/")]).elementsEqual(bytes), "the parts are another path")
  promise(path.components.first == path.root && path.components.last == path.name, "a path has other parts")
  promise(
    path.components.allSatisfy { !$0.isEmpty && $0.count <= Limits.component && !$0.contains(0) }, "a name is bad")
  if let parent = path.parent {
    let again = read { try parent.appending(path.name.span) }
    promise(again == path, "a parent with the name is another path")
  } else {
    promise(path.depth == 1, "a path has no parent")
  }
}
