import AppMigrationKit
import AuthenticationServices
import Glibc
import Security

extension TestApp {
  /// Obeys each line of standard input, and answers with a line. Secrets come by standard input,
  /// never by an argument.
  ///
  /// A line is a verb and words; `NAME=VALUE` is an attribute of an item.
  static func credentials() {
    while let line = readLine() {
      let words = line.split(separator: " ").map(String.init)
      guard let verb = words.first else { continue }
      let answer = answer(verb, Array(words.dropFirst()))
      FileHandle.standardOutput.write(Data("\(verb) \(answer)\n".utf8))
    }
  }

  private static func answer(_ verb: String, _ words: [String]) -> String {
    switch verb {
    case "add": "\(SecItemAdd(item(words) as CFDictionary, nil))"
    case "copy": copy(words)
    case "update": update(words)
    case "delete": "\(SecItemDelete(item(words) as CFDictionary))"
    case "many": many(words[0], Int(words[1]) ?? 0)
    case "churn": churn(words)
    case "user": state(of: words[0])
    case "children": wait(nil) == -1 && errno == ECHILD ? "none" : "some"
    case "helper": "\(helper(words))"
    case "open": opened(words[0], O_RDONLY)
    case "make": opened(words[0], O_WRONLY | O_CREAT)
    case "names": names(words[0])
    default: "unknown"
    }
  }

  private static let keys: [String: CFString] = [
    "account": kSecAttrAccount, "service": kSecAttrService, "label": kSecAttrLabel, "tag": kSecAttrApplicationLabel,
    "group": kSecAttrAccessGroup,
  ]

  /// The attributes that the words name, for a generic password, or for a key if a word is "key".
  private static func item(_ words: [String]) -> [String: Any] {
    var item: [String: Any] = words.contains("update") ? [:] : [kSecClass as String: kSecClassGenericPassword]
    for word in words {
      let parts = word.split(separator: "=", maxSplits: 1).map(String.init)
      if word == "key" { item[kSecClass as String] = kSecClassKey }
      guard parts.count == 2 else { continue }
      if let key = keys[parts[0]] { item[key as String] = parts[1] }
      if parts[0] == "secret" { item[kSecValueData as String] = parts[1].data(using: .utf8) }
    }
    return item
  }

  /// The status, and the label, account and secret of each found item, sorted.
  private static func copy(_ words: [String]) -> String {
    var query = item(words)
    query[kSecReturnAttributes as String] = true
    query[kSecReturnData as String] = true
    query[kSecMatchLimit as String] = words.contains("one") ? kSecMatchLimitOne : kSecMatchLimitAll
    var result: AnyObject?
    let status = SecItemCopyMatching(query as CFDictionary, &result)
    let found = (result as? [[String: Any]]) ?? (result as? [String: Any]).map { [$0] } ?? []
    let texts = found.map { item in
      let secret = (item[kSecValueData as String] as? Data).map { String(decoding: $0, as: UTF8.self) } ?? "?"
      return "\(item[kSecAttrLabel as String] ?? "-")/\(item[kSecAttrAccount as String] ?? "-")/\(secret)"
    }
    return ([String(status)] + texts.sorted()).joined(separator: " ")
  }

  /// The words before a colon find the items; the words after it are the items' new attributes.
  private static func update(_ words: [String]) -> String {
    let parts = words.split(separator: ":", maxSplits: 1).map(Array.init)
    var changes = item(parts[1])
    changes[kSecClass as String] = nil
    return "\(SecItemUpdate(item(parts[0]) as CFDictionary, changes as CFDictionary))"
  }

  /// Adds a number of items; returns their statuses.
  private static func many(_ prefix: String, _ count: Int) -> String {
    let statuses = (0..<count).map { number in
      SecItemAdd(item(["account=\(prefix)\(number)", "secret=of-\(prefix)\(number)"]) as CFDictionary, nil)
    }
    return Set(statuses).sorted().map(String.init).joined(separator: " ")
  }

  /// Sets the items' secret to one of two values in turn, until the process is killed. It reports
  /// its beginning and each failure.
  private static func churn(_ words: [String]) -> String {
    FileHandle.standardOutput.write(Data("churning\n".utf8))
    while true {
      for secret in ["old", "new"] {
        let long = String(repeating: secret, count: 1000)
        let status = SecItemUpdate(item(words) as CFDictionary, item(["update", "secret=\(long)"]) as CFDictionary)
        if status != errSecSuccess { return "\(status)" }
      }
    }
  }

  private static func state(of user: String) -> String {
    let said = DispatchSemaphore(value: 0)
    nonisolated(unsafe) var answer = ""
    ASAuthorizationAppleIDProvider().getCredentialState(forUserID: user) { state, error in
      answer =
        switch state {
        case .authorized: "authorized"
        case .revoked: "revoked"
        case .notFound: "notFound"
        default: "other"
        }
      if error != nil { answer += " with an error" }
      said.signal()
    }
    said.wait()
    return answer
  }

  /// Starts a program without input and output, and does not wait for it; returns its process
  /// number.
  private static func helper(_ words: [String]) -> pid_t {
    var process: pid_t = 0
    var arguments = words.map { strdup($0) } + [nil]
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    for number in 0...2 as ClosedRange<CInt> {
      posix_spawn_file_actions_addopen(&actions, number, "/dev/null", O_RDWR, 0)
    }
    posix_spawn(&process, words[0], &actions, nil, &arguments, environ)
    posix_spawn_file_actions_destroy(&actions)
    for argument in arguments { free(argument) }
    return process
  }

  private static func opened(_ path: String, _ flags: CInt) -> String {
    let file = open(path, flags, 0o600)
    guard file != -1 else { return String(cString: strerror(errno)) }
    close(file)
    return "done"
  }

  private static func names(_ path: String) -> String {
    do {
      return try FileManager.default.contentsOfDirectory(atPath: path).sorted().joined(separator: " ")
    } catch {
      return "\(error)"
    }
  }
}
