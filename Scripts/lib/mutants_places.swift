// Finds the places in Swift files at which one condition or one action can be changed, for mutants.py.
//
// Usage: places FILE... ; prints a JSON object a line. Offsets count bytes.

import Foundation
import SwiftOperators
import SwiftParser
import SwiftSyntax

/// One place, and what goes in front of it and behind it; `#` stands for its number.
struct Place: Encodable {
  var file: String
  /// flip: a condition is inverted. never: a match is taken for none. case: a case of a switch is passed over. action: a statement
  /// with actions is left out. element: an action in a list is left out. state: an assignment or a call is left out.
  var kind: String
  /// What it is in, such as `begin`.
  var function: String
  var start: Int
  var end: Int
  var before: String
  var after: String
  /// The place's text; that of each element where there are several.
  var texts: [String]
  /// Where its switch begins, for cases.
  var owner: Int?
}

final class Finder: SyntaxVisitor {
  private let file: String
  private let bytes: [UInt8]
  private(set) var places: [Place] = []
  /// So that one condition is one place, by whatever rule it was found.
  private var seen: Set<String> = []

  /// What gets its first value from an assignment, which therefore cannot be left out.
  private var unset: Set<String> = []

  /// Whose closures tell which elements.
  private static let searches: Set<String> = [
    "first", "firstIndex", "last", "lastIndex", "contains", "filter", "removeAll", "allSatisfy", "count", "drop", "prefix",
  ]
  private static let comparisons: Set<String> = ["==", "!=", "<", ">", "<=", ">=", "===", "!==", "~=", "&&", "||"]
  /// What checks itself and decides nothing.
  private static let checks: Set<String> = ["precondition", "preconditionFailure", "assert", "assertionFailure", "fatalError"]

  init(file: String, text: String) {
    self.file = file
    bytes = Array(text.utf8)
    super.init(viewMode: .sourceAccurate)
  }

  // MARK: Conditions

  override func visit(_ node: ConditionElementListSyntax) -> SyntaxVisitorContinueKind {
    // Of several matches in one list, any that fails makes the whole fail: they are one place.
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
      let text = matches.map { trimmed($0.condition) }.joined(separator: ", ")
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
    guard let sign = node.operator.as(BinaryOperatorExprSyntax.self)?.operator.text, Self.comparisons.contains(sign) else {
      return .visitChildren
    }
    // Of `a && b && c` the operands are places and the whole, and no part between.
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
    if let value = node.expression { result(value, of: Syntax(node)) }
    return .visitChildren
  }

  override func visit(_ node: SwitchExprSyntax) -> SyntaxVisitorContinueKind {
    for item in overlapping(node) where item.whereClause == nil {
      add("case", item.pattern, before: "", after: " where kept(#)", owner: node.positionAfterSkippingLeadingTrivia.utf8Offset)
    }
    return .visitChildren
  }

  override func visit(_ node: FunctionCallExprSyntax) -> SyntaxVisitorContinueKind {
    let name = called(node)
    if Self.checks.contains(name) { return .skipChildren }
    if Self.searches.contains(name) {
      var closures = [node.trailingClosure].compactMap { $0 }
      for argument in node.arguments where argument.label?.text == "where" || argument.label?.text == "while" || name == "filter" {
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
    } else if isChange(expression), !isInInitializer(Syntax(node)) {
      add("state", node.item, before: "if kept(#) { ", after: " }")
    }
    return .visitChildren
  }

  override func visit(_ node: VariableDeclSyntax) -> SyntaxVisitorContinueKind {
    for binding in node.bindings where binding.initializer == nil && binding.accessorBlock == nil {
      let isNil = binding.typeAnnotation?.type.is(OptionalTypeSyntax.self) ?? false
      if node.parent?.is(CodeBlockItemSyntax.self) == true, node.bindingSpecifier.text == "let" || !isNil {
        unset.insert(trimmed(binding.pattern))
      }
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
        before: "listed(#, ", after: ")", texts: node.elements.map { trimmed($0.expression) }))
    return .visitChildren
  }

  /// Whether a statement appends to actions, or passes them on to be appended to.
  private func isAction(_ expression: ExprSyntax) -> Bool {
    switch unwrapped(expression).as(ExprSyntaxEnum.self) {
    case .infixOperatorExpr(let assignment):
      if isActions(assignment.leftOperand) { return assignsOrAdds(assignment) }
      return trimmed(assignment.leftOperand) == "_" && passesActions(assignment.rightOperand)
    case .functionCallExpr(let call):
      if let member = call.calledExpression.as(MemberAccessExprSyntax.self), let base = member.base, isActions(base) { return true }
      return passesActions(ExprSyntax(call))
    default: return false
    }
  }

  private func passesActions(_ expression: ExprSyntax) -> Bool {
    guard let call = unwrapped(expression).as(FunctionCallExprSyntax.self) else { return false }
    return call.arguments.contains { argument in
      argument.expression.as(InOutExprSyntax.self).map { isActions($0.expression) } ?? false
    }
  }

  /// By its name, since no types are known here.
  private func isActions(_ expression: ExprSyntax) -> Bool {
    trimmed(expression).split(separator: ".").last.map { $0 == "actions" || $0.hasSuffix("Actions") } ?? false
  }

  private func assignsOrAdds(_ infix: InfixOperatorExprSyntax) -> Bool {
    if infix.operator.is(AssignmentExprSyntax.self) { return true }
    guard let sign = infix.operator.as(BinaryOperatorExprSyntax.self)?.operator.text else { return false }
    return sign.count == 2 && sign.hasSuffix("=") && !Self.comparisons.contains(sign)
  }

  /// Whether a statement assigns, or calls something for what it changes.
  private func isChange(_ expression: ExprSyntax) -> Bool {
    switch unwrapped(expression).as(ExprSyntaxEnum.self) {
    case .infixOperatorExpr(let infix): assignsOrAdds(infix) && !unset.contains(trimmed(infix.leftOperand))
    case .functionCallExpr(let call): !Self.checks.contains(called(call))
    case .optionalChainingExpr: true
    default: false
    }
  }

  private func isListOfActions(_ node: ArrayExprSyntax) -> Bool {
    var child = Syntax(node)
    while let parent = child.parent {
      switch parent.as(SyntaxEnum.self) {
      case .infixOperatorExpr(let infix):
        if isActions(infix.leftOperand) { return true }
      case .labeledExpr(let argument):
        guard let call = argument.parent?.parent?.as(FunctionCallExprSyntax.self),
          let member = call.calledExpression.as(MemberAccessExprSyntax.self), let base = member.base
        else { return false }
        return isActions(base)
      case .ternaryExpr, .tupleExpr, .labeledExprList, .returnStmt, .codeBlockItem: break
      case .codeBlockItemList: return resultType(of: child).map { $0.hasSuffix("Action]") } ?? false
      default: return false
      }
      child = parent
    }
    return false
  }

  /// Whether leaving the list out is leaving a statement out, which is a place of its own.
  private func isWholeStatement(_ node: ArrayExprSyntax) -> Bool {
    var child = Syntax(node)
    while let parent = child.parent, !child.is(CodeBlockItemSyntax.self) {
      if parent.is(ReturnStmtSyntax.self) || parent.is(TernaryExprSyntax.self) { return false }
      if parent.as(InfixOperatorExprSyntax.self)?.operator.as(BinaryOperatorExprSyntax.self)?.operator.text == "+" { return false }
      child = parent
    }
    return child.as(CodeBlockItemSyntax.self).map { !isValue($0) } ?? false
  }

  // MARK: What things are

  /// The value of a function that tells whether.
  private func result(_ value: ExprSyntax, of node: Syntax) {
    if resultType(of: node) == "Bool" { flip(value) }
  }

  /// What the function, or the property, around something gives; nil for nothing, or what is not known.
  private func resultType(of node: Syntax) -> String? {
    var next = node.parent
    while let parent = next {
      if let closure = parent.as(ClosureExprSyntax.self) { return closure.signature?.returnClause.map { trimmed($0.type) } }
      if let function = parent.as(FunctionDeclSyntax.self) { return function.signature.returnClause.map { trimmed($0.type) } }
      if parent.is(InitializerDeclSyntax.self) { return nil }
      if let accessor = parent.as(AccessorDeclSyntax.self), accessor.accessorSpecifier.text != "get" { return nil }
      if let binding = parent.as(PatternBindingSyntax.self), binding.accessorBlock != nil {
        return binding.typeAnnotation.map { trimmed($0.type) }
      }
      if let script = parent.as(SubscriptDeclSyntax.self) { return trimmed(script.returnClause.type) }
      next = parent.parent
    }
    return nil
  }

  /// Whether an expression is a value, and not a statement: the one of its block, where the block gives one.
  private func isValue(_ item: CodeBlockItemSyntax) -> Bool {
    guard let list = item.parent?.as(CodeBlockItemListSyntax.self), list.count == 1, let block = list.parent else { return false }
    if let closure = block.as(ClosureExprSyntax.self) {
      if let result = closure.signature?.returnClause { return trimmed(result.type) != "Void" }
      guard case .expr(let expression) = item.item else { return true }
      return !isAction(expression) && unwrapped(expression).as(InfixOperatorExprSyntax.self).map { !assignsOrAdds($0) } ?? true
    }
    if block.is(AccessorBlockSyntax.self) { return true }
    if let one = block.as(SwitchCaseSyntax.self) { return isBranchValue(one.parent?.parent) }
    guard let owner = block.parent else { return false }
    if owner.is(IfExprSyntax.self) { return isBranchValue(owner) }
    if let function = owner.as(FunctionDeclSyntax.self) {
      return function.signature.returnClause.map { trimmed($0.type) != "Void" } ?? false
    }
    return owner.as(AccessorDeclSyntax.self).map { $0.accessorSpecifier.text == "get" } ?? false
  }

  private func isBranchValue(_ node: Syntax?) -> Bool {
    guard let parent = node?.parent else { return false }
    if parent.is(IfExprSyntax.self) { return isBranchValue(parent) }
    if parent.is(ExpressionStmtSyntax.self) { return parent.parent?.as(CodeBlockItemSyntax.self).map(isValue) ?? false }
    if let item = parent.as(CodeBlockItemSyntax.self) { return isValue(item) }
    return true
  }

  private func isInInitializer(_ node: Syntax) -> Bool {
    var next = node.parent
    while let parent = next {
      if parent.is(InitializerDeclSyntax.self) { return true }
      if parent.is(FunctionDeclSyntax.self) { return false }
      next = parent.parent
    }
    return false
  }

  private func binds(_ pattern: PatternSyntax) -> Bool {
    trimmed(pattern).split { !$0.isLetter }.contains { $0 == "let" || $0 == "var" }
  }

  /// The cases of a switch of which another may take what comes: all others are needed.
  private func overlapping(_ node: SwitchExprSyntax) -> [SwitchCaseItemSyntax] {
    var items: [SwitchCaseItemSyntax] = []
    var takesAll = false
    for case .switchCase(let one) in node.cases {
      if case .case(let label) = one.label { items += label.caseItems } else { takesAll = true }
    }
    if takesAll || items.contains(where: { isOpen(trimmed($0.pattern)) }) { return items }
    let names = items.map { trimmed($0.pattern).prefix { $0 != "(" } }
    return zip(items, names).filter { pair in !pair.1.isEmpty && names.count { $0 == pair.1 } > 1 }.map(\.0)
  }

  /// Whether a pattern, or a part of a tuple of them, takes whatever comes.
  private func isOpen(_ pattern: String) -> Bool {
    if pattern == "_" || pattern.hasPrefix("let ") || pattern.hasPrefix("var ") { return true }
    guard pattern.hasPrefix("("), pattern.hasSuffix(")") else { return false }
    var depth = 0
    let parts = pattern.dropFirst().dropLast().split(omittingEmptySubsequences: false) { character in
      depth += character == "(" ? 1 : character == ")" ? -1 : 0
      return depth == 0 && character == ","
    }
    return parts.contains { isOpen($0.trimmingCharacters(in: .whitespaces)) }
  }

  /// Whether something means another thing in a closure of its own.
  private func cannotMove(_ clause: InitializerClauseSyntax) -> Bool {
    clause.tokens(viewMode: .sourceAccurate).contains { $0.text == "try" || $0.text.hasPrefix("$") }
  }

  private func called(_ call: FunctionCallExprSyntax) -> String {
    call.calledExpression.as(MemberAccessExprSyntax.self)?.declName.baseName.text ?? trimmed(call.calledExpression)
  }

  /// Without `try` and a pair of parentheses around it.
  private func unwrapped(_ expression: ExprSyntax) -> ExprSyntax {
    if let attempt = expression.as(TryExprSyntax.self) { return unwrapped(attempt.expression) }
    if let tuple = expression.as(TupleExprSyntax.self), tuple.elements.count == 1, let only = tuple.elements.first {
      return unwrapped(only.expression)
    }
    return expression
  }

  private func function(of node: Syntax) -> String {
    var next: Syntax? = node
    while let parent = next {
      if let function = parent.as(FunctionDeclSyntax.self) { return function.name.text }
      if parent.is(InitializerDeclSyntax.self) { return "init" }
      if parent.is(SubscriptDeclSyntax.self) { return "subscript" }
      if let binding = parent.as(PatternBindingSyntax.self), binding.accessorBlock != nil { return trimmed(binding.pattern) }
      next = parent.parent
    }
    return ""
  }

  // MARK: Places

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
        file: file, kind: kind, function: function(of: Syntax(node)), start: start, end: end, before: before, after: after,
        texts: [text ?? trimmed(node)], owner: owner))
  }

  /// A text in one line.
  private func trimmed(_ node: some SyntaxProtocol) -> String {
    let start = node.positionAfterSkippingLeadingTrivia.utf8Offset
    let end = max(start, node.endPositionBeforeTrailingTrivia.utf8Offset)
    return String(decoding: bytes[start..<end], as: UTF8.self).split(whereSeparator: \.isWhitespace).joined(separator: " ")
  }
}

let encoder = JSONEncoder()
for file in CommandLine.arguments.dropFirst() {
  let text = try String(contentsOfFile: file, encoding: .utf8)
  let finder = Finder(file: file, text: text)
  finder.walk(OperatorTable.standardOperators.foldAll(Parser.parse(source: text)) { _ in })
  for place in finder.places { print(String(decoding: try encoder.encode(place), as: UTF8.self)) }
}
