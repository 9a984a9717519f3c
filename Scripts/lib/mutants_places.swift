// Finds the places in Swift files at which one condition or one action can be changed, for
// mutants.py.
//
// Usage: places FILE... ; prints a JSON object a line. Offsets count bytes.

import Foundation
import SwiftOperators
import SwiftParser
import SwiftSyntax

/// One place, and the text before it and after it; `#` is replaced by its number.
struct Place: Encodable {
  var file: String
  /// - flip: a condition is inverted.
  /// - never: a match is taken for none.
  /// - case: a case of a switch is passed over.
  /// - action: a statement with actions is left out.
  /// - element: an action in a list is left out.
  var kind: String
  /// The function that contains it, such as `begin`.
  var function: String
  var start: Int
  var end: Int
  var before: String
  var after: String
  /// The place's text; the text of each element if there are several.
  var texts: [String]
  /// Where its switch begins, for cases.
  var owner: Int?
}

final class Finder: SyntaxVisitor {
  private let file: String
  private(set) var places: [Place] = []
  /// The conditions found so far, so that one condition is one place, by any rule.
  private var seen: Set<String> = []

  /// The methods whose closures choose elements.
  private static let searches: Set<String> = [
    "first", "firstIndex", "last", "lastIndex", "contains", "filter", "removeAll", "allSatisfy", "count", "drop",
    "prefix",
  ]

  init(file: String) {
    self.file = file
    super.init(viewMode: .sourceAccurate)
  }

  // MARK: Conditions

  override func visit(_ node: ConditionElementListSyntax) -> SyntaxVisitorContinueKind {
    // If any of several matches in one list fails, the whole fails: they are one place.
    var matches: [ConditionElementSyntax] = []
    for element in node {
      switch element.condition {
      case .expression(let condition): flip(condition)
      case .matchingPattern(let match):
        if binds(match.pattern) || cannotMove(match.initializer) {
          matches.append(element)
        } else {
          add("flip", match, before: "flipped(#, { () -> Bool in if ", after: " { true } else { false } }())")
        }
      case .optionalBinding: matches.append(element)
      default: break
      }
    }
    if let last = matches.last {
      let text = matches.map { oneLine($0.condition) }.joined(separator: ", ")
      add("never", last.condition, before: "", after: ", kept(#)", text: text)
    }
    return .visitChildren
  }

  override func visit(_ node: RepeatStmtSyntax) -> SyntaxVisitorContinueKind {
    flip(node.condition)
    return .visitChildren
  }

  override func visit(_ node: TernaryExprSyntax) -> SyntaxVisitorContinueKind {
    flip(node.condition)
    return .visitChildren
  }

  override func visit(_ node: WhereClauseSyntax) -> SyntaxVisitorContinueKind {
    flip(node.condition)
    return .visitChildren
  }

  override func visit(_ node: InfixOperatorExprSyntax) -> SyntaxVisitorContinueKind {
    guard let sign = node.operator.as(BinaryOperatorExprSyntax.self)?.operator.text, comparisons.contains(sign) else {
      return .visitChildren
    }
    // In `a && b && c`, the operands and the whole are places, and no part between.
    let outer = node.parent?.as(InfixOperatorExprSyntax.self)?.operator.as(BinaryOperatorExprSyntax.self)?.operator.text
    let isLink = sign == "&&" || sign == "||"
    if !isLink || outer != sign { flip(ExprSyntax(node)) }
    if isLink {
      for operand in [node.leftOperand, node.rightOperand] {
        let inner = operand.as(InfixOperatorExprSyntax.self)?.operator.as(BinaryOperatorExprSyntax.self)?.operator.text
        if inner != sign { flip(operand) }
      }
    }
    return .visitChildren
  }

  override func visit(_ node: PrefixOperatorExprSyntax) -> SyntaxVisitorContinueKind {
    if node.operator.text == "!" { flip(ExprSyntax(node)) }
    return .visitChildren
  }

  override func visit(_ node: ReturnStmtSyntax) -> SyntaxVisitorContinueKind {
    guard let value = node.expression else { return .visitChildren }
    if [nil, "Void"].contains(resultType(of: Syntax(node))), isAction(value) {
      add("action", node, before: "if kept(#) { ", after: " }; return")
    }
    result(value, of: Syntax(node))
    return .visitChildren
  }

  override func visit(_ node: SwitchExprSyntax) -> SyntaxVisitorContinueKind {
    for item in overlapping(node) where item.whereClause == nil {
      add(
        "case", item.pattern, before: "", after: " where kept(#)",
        owner: node.positionAfterSkippingLeadingTrivia.utf8Offset)
    }
    return .visitChildren
  }

  override func visit(_ node: FunctionCallExprSyntax) -> SyntaxVisitorContinueKind {
    let name = called(node)
    if checks.contains(name) { return .skipChildren }
    if Self.searches.contains(name) {
      var closures = [node.trailingClosure].compactMap { $0 }
      for argument in node.arguments
      where argument.label?.text == "where" || argument.label?.text == "while" || name == "filter" {
        if let closure = argument.expression.as(ClosureExprSyntax.self) { closures.append(closure) }
        if argument.expression.is(KeyPathExprSyntax.self) { wrap("flip", argument.expression, before: "flipped(#, ") }
      }
      for closure in closures {
        if closure.statements.count == 1, case .expr(let value)? = closure.statements.first?.item { flip(value) }
      }
    }
    return .visitChildren
  }

  // MARK: Actions

  override func visit(_ node: CodeBlockItemSyntax) -> SyntaxVisitorContinueKind {
    guard case .expr(let expression) = node.item else { return .visitChildren }
    if isValue(node) {
      result(expression, of: Syntax(node))
    } else if isAction(expression) {
      add("action", node.item, before: "if kept(#) { ", after: " }")
    }
    return .visitChildren
  }

  override func visit(_ node: ArrayExprSyntax) -> SyntaxVisitorContinueKind {
    guard !node.elements.isEmpty, isListOfActions(node) else { return .visitChildren }
    if node.elements.count == 1, isWholeStatement(node) { return .visitChildren }
    places.append(
      Place(
        file: file, kind: "element", function: function(of: Syntax(node)),
        start: node.positionAfterSkippingLeadingTrivia.utf8Offset, end: node.endPositionBeforeTrailingTrivia.utf8Offset,
        before: "listed(#, ", after: ")", texts: node.elements.map { oneLine($0.expression) }))
    return .visitChildren
  }

  // MARK: Places

  /// The Boolean value of a function.
  private func result(_ value: ExprSyntax, of node: Syntax) {
    if resultType(of: node) == "Bool" { flip(value) }
  }

  private func flip(_ condition: ExprSyntax) {
    switch condition.as(ExprSyntaxEnum.self) {
    case .booleanLiteralExpr, .ifExpr, .switchExpr: return
    case .tupleExpr(let tuple) where tuple.elements.count == 1:
      if let only = tuple.elements.first { flip(only.expression) }
    default: wrap("flip", condition, before: "flipped(#, ")
    }
  }

  private func wrap(_ kind: String, _ node: ExprSyntax, before: String) { add(kind, node, before: before, after: ")") }

  private func add(
    _ kind: String, _ node: some SyntaxProtocol, before: String, after: String, text: String? = nil, owner: Int? = nil
  ) {
    let start = node.positionAfterSkippingLeadingTrivia.utf8Offset
    let end = node.endPositionBeforeTrailingTrivia.utf8Offset
    guard seen.insert("\(kind) \(start) \(end)").inserted else { return }
    places.append(
      Place(
        file: file, kind: kind, function: function(of: Syntax(node)), start: start, end: end, before: before,
        after: after,
        texts: [text ?? oneLine(node)], owner: owner))
  }
}

@main struct Places {
  static func main() throws {
    let encoder = JSONEncoder()
    for file in CommandLine.arguments.dropFirst() {
      let text = try String(contentsOfFile: file, encoding: .utf8)
      let finder = Finder(file: file)
      finder.walk(OperatorTable.standardOperators.foldAll(Parser.parse(source: text)) { _ in })
      for place in finder.places { print(String(decoding: try encoder.encode(place), as: UTF8.self)) }
    }
  }
}
