/// The actions of a receiver for every event in every state (Protocol §7): see
/// `ReceiverTableTests`.
enum ReceiverTable {
  static let all = [run, door, messages, export, workers]
}
