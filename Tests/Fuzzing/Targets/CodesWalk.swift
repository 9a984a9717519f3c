import FuzzDriver
import MigrationWire

/// Codes are issued, tried and taken. No code is compared more often than it has tries, and no wait
/// has more guesses than it may.
struct CodesWalk {
  private var input: InputBytes
  private var codes = PairingCodes()
  private var now = 0.0
  private var number = 0
  private var compared: [Int: Int] = [:]
  private var guesses = 0

  init(_ input: ArraySlice<UInt8>) { self.input = InputBytes(input) }

  mutating func run() {
    while !input.isEmpty {
      step()
      promise(codes.guessesLeft == GuessLimit.most - guesses, "guesses are counted wrongly")
      promise(codes.tries <= PairingCodes.triesPerCode, "a code has too many tries")
      promise(codes.guessers.reduce(0) { $0 + $1.count } <= guesses, "more guesses are told than there were")
      if let expiry = codes.expiry { promise(expiry <= now + PairingCodes.lifetime, "a code lives too long") }
    }
  }

  private mutating func step() {
    let network = "\(input.number(below: 5))"
    switch input.byte() % 10 {
    case 0, 1: if codes.wantsCode { number = codes.issue(now: now) }
    case 2, 3, 4:
      let tried = max(0, number - input.number(below: 2))
      guard codes.attempt(tried, from: network, now: now) == .compare else { return }
      promise(tried == number, "an old code is compared")
      compared[tried, default: 0] += 1
      guesses += 1
      promise(compared[tried, default: 0] <= PairingCodes.triesPerCode, "a code is compared too often")
      if input.flag() { _ = codes.mismatched(tried) }
    case 5: if codes.matched(number, from: network) { promise(codes.isTaken, "a code that was matched is not taken") }
    case 6: _ = codes.mismatched(number)
    case 7:
      now += input.seconds()
      _ = codes.expire(now: now)
    case 8:
      if input.flag() {
        codes.startNextWait(now: now)
        guesses = 0
      } else {
        if codes.isExhausted { guesses = 0 }
        codes.startAnew()
      }
    default: codes.reopen()
    }
  }
}
