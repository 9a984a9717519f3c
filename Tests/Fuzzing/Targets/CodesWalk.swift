import FuzzDriver
import MigrationEngine
import MigrationWire

/// Codes are issued, tried and taken. No code is compared more often than it has tries, and no wait
/// has more guesses than it may.
struct CodesWalk {
  private var input: InputBytes
  private var codes = ReceiverCodes()
  private var now = 0.0
  private var number = 0
  private var compared: [Int: Int] = [:]
  private var guesses = 0

  init(_ input: ArraySlice<UInt8>) { self.input = InputBytes(input) }

  mutating func run() {
    while !input.isEmpty {
      step()
      promise(codes.guessesLeft == GuessLimit.most - guesses, "guesses are counted wrongly")
      if let expiry = codes.expiry { promise(expiry <= now + ReceiverCodes.lifetime, "a code lives too long") }
    }
  }

  private mutating func step() {
    let remote = Remote(host: "\(input.number(below: 5))", network: "\(input.number(below: 5))")
    switch input.byte() % 10 {
    case 0, 1: if codes.isWanted { number = codes.issue(PairingCode(number: 1), now: now) }
    case 2, 3, 4, 5, 6:
      let tried = max(0, number - input.number(below: 2))
      let isRight = input.byte() % 4 == 0
      switch codes.judge(tried, isRight, from: remote, now: now) {
      case .refused, .postponed: return
      case .right: promise(isRight && codes.isTaken, "a code that was matched is not taken")
      case .wrong: promise(!isRight, "a right code is refused")
      }
      promise(tried == number, "an old code is compared")
      compared[tried, default: 0] += 1
      guesses += 1
      promise(compared[tried, default: 0] <= PairingCode.tries, "a code is compared too often")
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
