/// Finds texts in bytes in one pass, however alike the texts and the bytes are: the automaton of Aho
/// and Corasick. It reads backwards, so that at each byte it knows all texts that begin there.
struct TextFinder: Sendable {
  /// The end of a text, read backwards. The first state has no byte.
  private struct State {
    let byte: UInt8
    /// The first state of one more byte, and the next state with the same parent; 0 for none.
    var child: Int32 = 0
    var sibling: Int32 = 0
    /// The longest other state that these bytes begin with.
    var shorter: Int32 = 0
    /// The text that is complete, and the next shorter state with one; -1 and 0 for none.
    var text: Int32 = -1
    var shorterText: Int32 = 0
  }

  private var states = [State(byte: 0)]
  /// The children of the first state, since most bytes are in no text.
  private var lasts = [Int32](repeating: 0, count: 256)

  /// Of equal texts, the first one is found.
  init(_ texts: [[UInt8]]) {
    for (number, text) in texts.enumerated() {
      var state: Int32 = 0
      for byte in text.reversed() {
        let child = child(of: state, byte)
        state = child == 0 ? add(byte, to: state) : child
      }
      if state != 0, states[Int(state)].text < 0 { states[Int(state)].text = Int32(number) }
    }
    link()
  }

  private mutating func add(_ byte: UInt8, to parent: Int32) -> Int32 {
    let number = Int32(states.count)
    states.append(State(byte: byte, sibling: states[Int(parent)].child))
    states[Int(parent)].child = number
    if parent == 0 { lasts[Int(byte)] = number }
    return number
  }

  /// Connects the states, the short ones first.
  private mutating func link() {
    var queue: [Int32] = [0]
    var next = 0
    while next < queue.count {
      let parent = states[Int(queue[next])]
      var child = parent.child
      while child != 0 {
        let shorter = next == 0 ? 0 : state(after: parent.shorter, states[Int(child)].byte)
        let other = states[Int(shorter)]
        states[Int(child)].shorter = shorter
        states[Int(child)].shorterText = other.text < 0 ? other.shorterText : shorter
        queue.append(child)
        child = states[Int(child)].sibling
      }
      next += 1
    }
  }

  private func child(of state: Int32, _ byte: UInt8) -> Int32 {
    if state == 0 { return lasts[Int(byte)] }
    var child = states[Int(state)].child
    while child != 0, states[Int(child)].byte != byte { child = states[Int(child)].sibling }
    return child
  }

  private func state(after state: Int32, _ byte: UInt8) -> Int32 {
    var state = state
    while true {
      let child = child(of: state, byte)
      if child != 0 || state == 0 { return child }
      state = states[Int(state)].shorter
    }
  }

  /// The places where a text begins, in order, each with the number of the longest text that counts.
  func occurrences(in content: [UInt8], where counts: (_ text: Int, _ start: Int) -> Bool) -> [(start: Int, text: Int)]
  {
    var found: [(start: Int, text: Int)] = []
    var state: Int32 = 0
    for start in content.indices.reversed() {
      state = self.state(after: state, content[start])
      var ending = state != 0 && states[Int(state)].text < 0 ? states[Int(state)].shorterText : state
      while ending != 0 {
        let text = Int(states[Int(ending)].text)
        if counts(text, start) {
          found.append((start, text))
          break
        }
        ending = states[Int(ending)].shorterText
      }
    }
    return found.reversed()
  }
}
