import MigrationArchive
import MigrationEngine
import MigrationPage
import MigrationSystem
import MigrationTransfer
import MigrationWire

/// `peer assistant`: the page on which people move to a new computer.
enum Assistant {
  /// The file in PEER_HOME that the running assistant has locked. It has its port and its secret.
  static let fileName = Array("assistant".utf8)
  private static let longestFile = 256

  /// Serves the page, or opens another page of the running assistant. Returns the exit code.
  static func perform(opensBrowser: Bool) -> Int32 {
    do {
      return try run(opensBrowser)
    } catch {
      if opensBrowser, !Terminal.isTerminal(StandardStream.error.rawValue) { show(error) }
      return Output(.sender, json: false).fail(error)
    }
  }

  /// Shows a failure to a person who has started the assistant from a menu: in the browser, or else as a
  /// notification.
  private static func show(_ failure: Failure) {
    let places = LeadingFile.places((try? Home.forRecords()) ?? [])
    let texts = ["The assistant cannot start: \(failure.message)."] + [failure.hint].compactMap(\.self)
    do throws(SystemError) {
      guard let file = LeadingFile.write(page: LeadingFile.content(saying: texts), in: places) else {
        throw SystemError(reason: "no place for a file", operation: "show")
      }
      _ = try UserProgram("xdg-open", [String(decoding: file, as: UTF8.self)])
    } catch {
      _ = try? UserProgram("notify-send", ["Move to a New Computer", texts.joined(separator: " ")])
    }
  }

  /// Whether no browser of this computer could show anything to the person at the terminal.
  static func isFarAway(_ variable: (String) -> [UInt8]? = Environment.bytes) -> Bool {
    variable("SSH_CONNECTION") != nil && variable("DISPLAY") == nil && variable("WAYLAND_DISPLAY") == nil
  }

  private static func run(_ opensBrowser: Bool) throws(Failure) -> Int32 {
    if opensBrowser, isFarAway() {
      throw Failure(
        .usage, "the page needs a browser on this computer, and you are at it by SSH",
        hint: "At terminals, 'peer receive --everything' on the new computer and 'peer send --everything' on the old "
          + "one do the same.")
    }
    let page = try PageFolder.open()
    let home = try Home.forRecords()
    let places = LeadingFile.places(home)
    do throws(SystemError) {
      // Before all threads.
      let signals = try SignalSource()
      let file = try Directory.openOrMake(home, mode: 0o700).openOrCreateFile(fileName)
      guard try file.lockOnceFree() else {
        open(try addressOfOther(file), opensBrowser, by: places)
        return ExitCode.done
      }
      // An assistant that was killed leaves its own.
      LeadingFile.removeAll(in: places)
      defer { LeadingFile.removeAll(in: places) }
      let program = try AssistantProgram(page, opensBrowser: opensBrowser, leadingFrom: places)
      var server = try PageServer(program)
      try file.truncate(to: 0)
      try file.write(at: 0, Array("\(server.port) \(server.secret)\n".utf8).span)
      open(try server.newAddress(), opensBrowser, by: places)
      let isStopped = try server.run(until: signals.raw)
      try file.truncate(to: 0)
      program.end()
      guard isStopped else { return ExitCode.done }
      return (try signals.next()?.kind ?? .terminated).rawValue
    } catch {
      throw Failure(error)
    }
  }

  /// Opens the page in the browser that the user has chosen, and prints its address: to a terminal
  /// with a ticket, and into a log without one.
  static func open(_ address: String, _ opensBrowser: Bool, by places: [[UInt8]]) {
    let file = opensBrowser ? LeadingFile.write(address, in: places) : nil
    let shown = Terminal.isTerminal(StandardStream.output.rawValue) ? nil : file.map { VisibleText.listed($0) }
    StandardStream.output.write("The page for moving to a new computer: \(shown ?? address)\n")
    guard opensBrowser else { return }
    do throws(SystemError) {
      guard let file else { return tellToOpen() }
      let browser = try UserProgram("xdg-open", [String(decoding: file, as: UTF8.self)])
      // A browser may run as long as this program.
      _ = try OwnerThread(name: "browser") { if (try? browser.wait()) != 0 { tellToOpen() } }
    } catch {
      tellToOpen()
    }
  }

  private static func tellToOpen() {
    StandardStream.error.write("peer: note: no browser was opened: open the address within a minute\n")
  }

  // MARK: The assistant that runs

  /// A new address of the assistant that has locked the file.
  private static func addressOfOther(_ file: borrowing Descriptor) throws(SystemError) -> String {
    var content = [UInt8](repeating: 0, count: longestFile)
    let count = try file.readFully(at: 0, into: &content)
    let words = String(decoding: content[..<count], as: UTF8.self).split { $0.isWhitespace }
    guard words.count == 2, let port = UInt16(words[0]) else {
      throw SystemError(reason: "it is about to begin or to end", operation: "ask the running assistant")
    }
    let answer = try ask(
      port,
      "POST /ticket HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\nOrigin: http://127.0.0.1:\(port)\r\n"
        + "\(Gate.secretField): \(words[1])\r\nContent-Length: 0\r\n\r\n")
    guard answer.hasPrefix("HTTP/1.1 200 "), let ticket = answer.split(separator: "\r\n").last else {
      throw SystemError(reason: "it does not answer", operation: "ask the running assistant")
    }
    return PageServer.address(port: port, ticket: String(ticket))
  }

  private static let patience = Duration.seconds(10)

  private static func ask(_ port: UInt16, _ request: String) throws(SystemError) -> String {
    let socket = try StreamSocket.connect(to: .loopback(port: port))
    let deadline = BootInstant.now() + patience
    var poller = try Poller()
    _ = try poller.wait(for: .writable, on: socket.raw, until: deadline)
    guard try socket.finishConnecting() else { return "" }
    _ = try socket.send(Array(request.utf8).span)
    var answer: [UInt8] = []
    while try !poller.wait(for: .readable, on: socket.raw, until: deadline).isEmpty {
      var buffer = [UInt8](repeating: 0, count: 4096)
      var memory = buffer.mutableSpan
      guard let count = try socket.receive(into: &memory) else { continue }
      if count == 0 { break }
      answer += buffer[..<count]
    }
    return String(decoding: answer, as: UTF8.self)
  }
}
