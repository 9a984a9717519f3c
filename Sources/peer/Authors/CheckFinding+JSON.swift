import MigrationHost
import MigrationWire

extension CheckFinding {
  /// For a program: one object.
  var line: Rendering {
    switch self {
    case .fault(let fault):
      return Self.event(
        "fault",
        JSONValue.Member.name("file", fault.file) + [
          .init("key", fault.key.map(JSONValue.string) ?? .null), .init("message", .string(fault.reason)),
          .init("hint", .string(fault.hint)),
        ])
    case .bundle(let bundle, let data):
      return Self.event(
        "bundle",
        [
          .init("id", .string(bundle.identifier)), .init("version", .string(bundle.version)),
          .init("name", bundle.displayName.map(JSONValue.string) ?? .null), .init("store", .string(bundle.store)),
          .init("data", (data?.name).map(JSONValue.string) ?? .null),
        ] + bundle.role.members(hasExtension: bundle.migrationExtension != nil))
    case .abilities(let abilities):
      return Self.event(
        "abilities",
        [
          .init("exports", .bool(abilities.contains(.exports))), .init("imports", .bool(abilities.contains(.imports))),
        ])
    case .archive(let export): return Self.event("archive", export.members)
    case .notice(let text): return Self.event("notice", [.init("message", .string(text))])
    case .output(let output):
      return Self.event("extensionOutput", JSONReport.members(isError: output.stream == .error, line: output.line))
    case .checked(let identifier): return Self.event("checked", [.init("id", .string(identifier))])
    }
  }

  private static func event(_ name: String, _ members: [JSONValue.Member]) -> Rendering {
    Rendering(standardOutput: JSONValue.object([.init("event", .string(name))] + members).text + "\n")
  }
}

extension CheckedData {
  fileprivate var name: String {
    switch self {
    case .installed: "installed"
    case .directory: "directory"
    case .empty: "empty"
    }
  }
}

extension DryExport {
  fileprivate var members: [JSONValue.Member] {
    [
      .init("version", .string(version)), .init("estimate", .integer(estimate)),
      .init("compressible", .bool(isCompressible)), .init("items", .integer(total.items)),
      .init("bytes", .integer(total.bytes)), .init("seconds", .number((seconds * 1000).rounded() / 1000)),
      .init("roots", .array(roots.all.map { .object($0.members) })), .init("otherItems", .integer(roots.others)),
      .init("refused", .integer(refused.count)),
      .init("refusals", .array(refused.first.map { $0.object })),
      .init("unsent", .integer(unsent.count)), .init("unsentItems", .array(unsent.first.map { .object($0.members) })),
      .init("scratchBytes", .integer(scratchBytes)),
    ]
  }
}

extension DryExport.Roots.Root {
  fileprivate var members: [JSONValue.Member] {
    JSONValue.Member.name("name", name) + [
      .init("directory", .bool(isDirectory)), .init("items", .integer(total.items)),
      .init("bytes", .integer(total.bytes)),
    ]
  }
}
