/// A command of the program. Overviews use this order.
enum Verb: String, CaseIterable, Sendable {
  case receive
  case send
  case assistant
  case discover
  case relay
  case resume
  case forget
  case device
  case deviceList = "device list"
  case deviceName = "device name"
  case deviceForget = "device forget"
  case app
  case appInstall = "app install"
  case appList = "app list"
  case appRun = "app run"
  case appStatus = "app status"
  case appRemove = "app remove"
  case appNew = "app new"
  case appCheck = "app check"
  case appMigrate = "app migrate"
  case credentials
  case credentialsList = "credentials list"
  case credentialsRemove = "credentials remove"
  case account
  case accountAuthorize = "account authorize"
  case accountRevoke = "account revoke"
  case accountList = "account list"
  case code
  case codeNew = "code new"
  case completion
  case help

  /// The command at the start of some words; a command may be two words.
  init?(_ words: [String]) {
    // A word with a blank in it is not a command.
    guard let first = words.first, !first.contains(" ") else { return nil }
    guard let verb = Verb(rawValue: words.prefix(2).joined(separator: " ")) ?? Verb(rawValue: first) else { return nil }
    self = verb
  }

  private var words: [String] { rawValue.split(separator: " ").map(String.init) }

  /// Its number of words.
  var length: Int { words.count }

  /// Its last word: its name within its group.
  var name: String { words.last ?? rawValue }

  /// Its group, as `app` for `app list`; nil for a command without a group.
  var group: Verb? { words.count > 1 ? Verb(rawValue: words[0]) : nil }

  /// The commands in it, if it is a group.
  var members: [Verb] { Verb.allCases.filter { $0.group == self } }

  /// All options that it takes.
  var options: [Option] { description.options }

  /// Its description.
  var description: CommandDescription {
    switch self {
    case .receive: .receive
    case .send: .send
    case .assistant: .assistant
    case .discover: .discover
    case .relay: .relay
    case .resume: .resume
    case .forget: .forget
    case .device: .device
    case .deviceList: .deviceList
    case .deviceName: .deviceName
    case .deviceForget: .deviceForget
    case .app: .app
    case .appInstall: .appInstall
    case .appList: .appList
    case .appRun: .appRun
    case .appStatus: .appStatus
    case .appRemove: .appRemove
    case .appNew: .appNew
    case .appCheck: .appCheck
    case .appMigrate: .appMigrate
    case .credentials: .credentials
    case .credentialsList: .credentialsList
    case .credentialsRemove: .credentialsRemove
    case .account: .account
    case .accountAuthorize: .accountAuthorize
    case .accountRevoke: .accountRevoke
    case .accountList: .accountList
    case .code: .code
    case .codeNew: .codeNew
    case .completion: .completion
    case .help: .help
    }
  }
}
