/// The purpose of a request.
package enum Route: Equatable, Sendable {
  /// A file of the page; needs no secret, and tells nothing.
  case file(PageFile)
  /// The secret, for a ticket.
  case exchange
  /// A new ticket, for another page of the same user.
  case ticket
  /// The events, from the first one of the run on.
  case events
  /// An action that has an effect.
  case call(Call)

  /// The route of a request; nil if there is none.
  package init?(_ request: Request) {
    switch (request.method, request.target) {
    case (.get, "/events"): self = .events
    case (.post, "/exchange"): self = .exchange
    case (.post, "/ticket"): self = .ticket
    case (.get, let target):
      guard let file = PageFile(target: target) else { return nil }
      self = .file(file)
    case (.post, let target):
      guard let call = Call(rawValue: String(target.dropFirst())) else { return nil }
      self = .call(call)
    }
  }

  /// A file of the page.
  package enum PageFile: String, CaseIterable, Sendable {
    case page = "index.html"
    case style = "page.css"
    case script = "page.js"
    case elements = "elements.js"
    case state = "state.js"
    case new = "new.js"
    case old = "old.js"
    case moving = "moving.js"
    case texts = "texts.js"
    case foreign = "foreign.js"
    case icon = "icon.svg"

    init?(target: String) {
      self.init(rawValue: target == "/" ? Self.page.rawValue : String(target.dropFirst()))
    }

    package var type: String {
      switch self {
      case .page: "text/html; charset=utf-8"
      case .style: "text/css; charset=utf-8"
      case .script, .elements, .state, .new, .old, .moving, .texts, .foreign: "text/javascript; charset=utf-8"
      case .icon: "image/svg+xml"
      }
    }
  }
}

/// The actions that the page can ask for.
package enum Call: String, CaseIterable, Sendable {
  /// Looks for waiting computers.
  case look
  /// Begins or goes on to send.
  case send
  /// Begins or goes on to receive.
  case receive
  /// Answers the question that waits.
  case answer
  /// Ends the transfer in order; it can go on.
  case stop
  /// Leaves the report of the transfer that has ended.
  case leave
}

/// The program behind the page.
package protocol PageProgram: AnyObject, Sendable {
  /// The events for the page.
  var events: PageEvents { get }
  /// The content of a file of the page; nil if it is missing.
  func content(of file: Route.PageFile) -> [UInt8]?
  /// Performs the action that the page asks for. Returns at once.
  func perform(_ call: Call, _ form: [String: String]) -> Status
  /// Whether something runs, or has ended and no page has shown it. `isShown` is whether a page reads
  /// the events.
  func isNeeded(isShown: Bool) -> Bool
  /// Whether a page is to be opened now: a person was asked to close the browser that showed it.
  func wantsPage(isShown: Bool) -> Bool
  /// Opens a page with an address for a browser.
  func open(_ address: String)
  /// Called when no ticket works any more.
  func endTickets()
}
