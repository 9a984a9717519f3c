import MigrationSystem

extension HumanReport.Surface {
  /// The surface of standard error, and the bar that can be drawn on it.
  static var standardError: HumanReport.Surface {
    guard Terminal.isTerminal(StandardStream.error.rawValue), Environment.get("TERM") != "dumb" else { return .log }
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].lazy.compactMap(Environment.get).first { !$0.isEmpty } ?? ""
    let isUTF8 = locale.lowercased().hasSuffix("utf-8") || locale.lowercased().hasSuffix("utf8")
    return .terminal(isUTF8 ? .blocks : .plain)
  }
}
