package import MigrationSystem

/// Serves the page to the browsers of its user on this machine. One thread runs it.
package struct PageServer: ~Copyable {
  /// The most connections. A further connection ends the oldest connection that is no stream.
  static let mostConnections = 64

  private let listener: ListeningSocket
  private let program: any PageProgram
  private var gate: Gate
  private var poller: Poller
  private var connections: [PageConnection]
  private var lifetime: PageLifetime
  /// The time before which nothing is accepted, because there are no descriptors left.
  private var restsUntil: BootInstant?
  private static let rest = Duration.milliseconds(100)
  /// Whether a ticket worked at the last look.
  private var hadTicket = true

  /// Listens on 127.0.0.1, on a port that the kernel chooses.
  ///
  /// - Parameter owner: the user whose connections are taken.
  package init(_ program: any PageProgram, owner: UInt32 = CurrentProcess.effectiveUserID) throws(SystemError) {
    let socket = try ListeningSocket(on: .loopback(port: 0))
    let poller = try Poller()
    gate = try Gate(port: socket.port, owner: owner)
    listener = socket
    self.poller = poller
    self.program = program
    // Not before something throws: Swift 6.2 would destroy it twice.
    connections = []
    lifetime = PageLifetime(now: .now())
  }

  package var port: UInt16 { listener.port }
  /// The secret with which another process of the same user asks for a ticket.
  package var secret: String { gate.secret }

  /// The address for a browser, with a new ticket.
  package mutating func newAddress() throws(SystemError) -> String {
    Self.address(port: port, ticket: try gate.newTicket(now: .now()))
  }

  /// The address for a browser.
  package static func address(port: UInt16, ticket: String) -> String { "http://127.0.0.1:\(port)/#\(ticket)" }

  /// Serves until no page has been there for a while and nothing runs, or until the descriptor `stop`
  /// is readable; then returns true.
  package mutating func run(until stop: CInt) throws(SystemError) -> Bool {
    while true {
      var interests = [
        Poller.Interest(stop, .readable), Poller.Interest(program.events.wakeup.raw, .readable),
        Poller.Interest(listener.raw, restsUntil == nil ? .readable : []),
      ]
      interests += connections.map { Poller.Interest($0.socket.raw, $0.wanted) }
      _ = try poller.wait(&interests, until: nextMoment())
      if !interests[0].ready.isEmpty { return true }
      if !interests[1].ready.isEmpty { program.events.wakeup.clear() }
      let now = BootInstant.now()
      if let moment = restsUntil, now >= moment { restsUntil = nil }
      for (index, connection) in connections.enumerated() { step(connection, interests[index + 3].ready, now: now) }
      connections.removeAll { $0.isOver }
      if !interests[2].ready.isEmpty { try accept(now: now) }
      let hasTicket = gate.hasTicket(now: now)
      if hadTicket, !hasTicket { program.endTickets() }
      hadTicket = hasTicket
      let isShown = connections.contains { $0.isStream }
      let isNeeded = program.isNeeded(isShown: isShown)
      if program.wantsPage(isShown: isShown) {
        program.open(try newAddress())
        lifetime.noteTicket(now: now)
      }
      lifetime.note(isShown: isShown, isNeeded: isNeeded, now: now)
      if now >= lifetime.end { return false }
    }
  }

  private func nextMoment() -> BootInstant {
    (connections.compactMap { $0.nextMoment } + [restsUntil].compactMap(\.self)).reduce(lifetime.end, min)
  }

  private mutating func accept(now: BootInstant) throws(SystemError) {
    // A flood does not keep the thread from the connections that it has.
    for _ in 0..<Self.mostConnections {
      let socket: StreamSocket?
      do throws(SystemError) {
        socket = try listener.accept()
      } catch {
        guard error.isDescriptorShortage else { throw error }
        // The oldest connection that is no stream gives its descriptor; without one, the server looks later.
        guard let oldest = connections.firstIndex(where: { !$0.isStream }) else {
          restsUntil = now + Self.rest
          return
        }
        connections.remove(at: oldest)
        continue
      }
      guard let socket else { return }
      guard gate.admits(socket) else { continue }
      if connections.count >= Self.mostConnections {
        guard let oldest = connections.firstIndex(where: { !$0.isStream }) else { continue }
        connections.remove(at: oldest)
      }
      connections.append(PageConnection(socket, now: now))
    }
  }

  private mutating func step(_ connection: PageConnection, _ ready: Poller.Readiness, now: BootInstant) {
    if !ready.isDisjoint(with: [.readable, .hangUp, .failed]) {
      switch connection.read() {
      case .unfinished: break
      case .refused: connection.answer(Response(.malformed), now: now)
      case .request(let request):
        if let response = response(to: request, now: now) {
          connection.answer(response, now: now)
        } else {
          connection.stream(program.events, now: now)
        }
      }
    }
    if connection.isStream {
      connection.fill(from: program.events, now: now)
    } else if ready.contains(.writable) {
      connection.write(now: now)
    }
    connection.check(now: now)
  }

  /// The response to a request; nil for the events.
  mutating func response(to request: Request, now: BootInstant) -> Response? {
    guard gate.isFromHere(request) else { return Response(.misdirected) }
    guard let route = Route(request) else { return Response(.notFound) }
    switch route {
    case .file(let file):
      return program.content(of: file).map { Response(.fine, file.type, $0) } ?? Response(.notFound)
    case .exchange:
      guard gate.takeTicket(of: request, now: now) else { return Response(.forbidden) }
      return Response(.fine, "text/plain; charset=utf-8", Array(gate.secret.utf8))
    case .ticket, .events, .call:
      guard gate.knows(request) else { return Response(.forbidden) }
    }
    switch route {
    case .ticket:
      guard let ticket = try? gate.newTicket(now: now) else { return Response(.failed) }
      lifetime.noteTicket(now: now)
      return Response(.fine, "text/plain; charset=utf-8", Array(ticket.utf8))
    case .call(let call):
      guard let form = request.form else { return Response(.malformed) }
      return Response(program.perform(call, form))
    case .events, .file, .exchange: return nil
    }
  }
}
