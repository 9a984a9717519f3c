// The meaning of pieces of Swift, as far as their text shows it, for mutants_places.swift: no types
// are known here.

import Foundation
import SwiftSyntax

let comparisons: Set<String> = ["==", "!=", "<", ">", "<=", ">=", "===", "!==", "~=", "&&", "||"]

/// Functions that only check and decide nothing.
let checks: Set<String> = ["precondition", "preconditionFailure", "assert", "assertionFailure", "fatalError"]

/// A text in one line.
func oneLine(_ node: some SyntaxProtocol) -> String {
  node.trimmedDescription.split(whereSeparator: \.isWhitespace).joined(separator: " ")
}

// MARK: Actions

/// Whether a statement does something: it appends to actions, passes them on to be appended to, or
/// calls a method of its own type.
func isAction(_ expression: ExprSyntax) -> Bool {
  if let call = unwrapped(expression).as(FunctionCallExprSyntax.self),
    let name = call.calledExpression.as(DeclReferenceExprSyntax.self)?.baseName.text
  {
    return !checks.contains(name) && name.first?.isUppercase == false
  }
  return appendsActions(expression)
}

func appendsActions(_ expression: ExprSyntax) -> Bool {
  switch unwrapped(expression).as(ExprSyntaxEnum.self) {
  case .infixOperatorExpr(let assignment):
    if isActions(assignment.leftOperand) { return assignsOrAdds(assignment) }
    return oneLine(assignment.leftOperand) == "_" && passesActions(assignment.rightOperand)
  case .functionCallExpr(let call):
    if let member = call.calledExpression.as(MemberAccessExprSyntax.self), let base = member.base, isActions(base) {
      return true
    }
    return passesActions(ExprSyntax(call))
  default: return false
  }
}

func passesActions(_ expression: ExprSyntax) -> Bool {
  guard let call = unwrapped(expression).as(FunctionCallExprSyntax.self) else { return false }
  return call.arguments.contains { argument in
    argument.expression.as(InOutExprSyntax.self).map { isActions($0.expression) } ?? false
  }
}

func isActions(_ expression: ExprSyntax) -> Bool {
  let name = oneLine(expression).split(separator: ".").last ?? ""
  return ["actions", "Actions", "Tasks"].contains { name.hasSuffix($0) }
}

func assignsOrAdds(_ infix: InfixOperatorExprSyntax) -> Bool {
  if infix.operator.is(AssignmentExprSyntax.self) { return true }
  guard let sign = infix.operator.as(BinaryOperatorExprSyntax.self)?.operator.text else { return false }
  return sign.count == 2 && sign.hasSuffix("=") && !comparisons.contains(sign)
}

func isListOfActions(_ node: ArrayExprSyntax) -> Bool {
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

/// Whether leaving the list out means leaving a statement out, which is a place of its own.
func isWholeStatement(_ node: ArrayExprSyntax) -> Bool {
  var child = Syntax(node)
  while let parent = child.parent, !child.is(CodeBlockItemSyntax.self) {
    if parent.is(ReturnStmtSyntax.self) || parent.is(TernaryExprSyntax.self) { return false }
    if parent.as(InfixOperatorExprSyntax.self)?.operator.as(BinaryOperatorExprSyntax.self)?.operator.text == "+" {
      return false
    }
    child = parent
  }
  return child.as(CodeBlockItemSyntax.self).map { !isValue($0) } ?? false
}

// MARK: Values and statements

/// The result type of the function, or the property, around a node; nil for none, or an unknown
/// one.
func resultType(of node: Syntax) -> String? {
  var next = node.parent
  while let parent = next {
    if let closure = parent.as(ClosureExprSyntax.self) {
      return closure.signature?.returnClause.map { oneLine($0.type) }
    }
    if let function = parent.as(FunctionDeclSyntax.self) {
      return function.signature.returnClause.map { oneLine($0.type) }
    }
    if parent.is(InitializerDeclSyntax.self) { return nil }
    if let accessor = parent.as(AccessorDeclSyntax.self), accessor.accessorSpecifier.text != "get" { return nil }
    if let binding = parent.as(PatternBindingSyntax.self), binding.accessorBlock != nil {
      return binding.typeAnnotation.map { oneLine($0.type) }
    }
    if let script = parent.as(SubscriptDeclSyntax.self) { return oneLine(script.returnClause.type) }
    next = parent.parent
  }
  return nil
}

/// Whether an expression is a value, and not a statement: the value of its block, if the block has
/// one.
func isValue(_ item: CodeBlockItemSyntax) -> Bool {
  guard let list = item.parent?.as(CodeBlockItemListSyntax.self), list.count == 1, let block = list.parent else {
    return false
  }
  if let closure = block.as(ClosureExprSyntax.self) {
    if let result = closure.signature?.returnClause { return oneLine(result.type) != "Void" }
    guard case .expr(let expression) = item.item else { return true }
    return !appendsActions(expression)
      && unwrapped(expression).as(InfixOperatorExprSyntax.self).map { !assignsOrAdds($0) } ?? true
  }
  if block.is(AccessorBlockSyntax.self) { return true }
  if let one = block.as(SwitchCaseSyntax.self) { return isBranchValue(one.parent?.parent) }
  guard let owner = block.parent else { return false }
  if owner.is(IfExprSyntax.self) { return isBranchValue(owner) }
  if let function = owner.as(FunctionDeclSyntax.self) {
    return function.signature.returnClause.map { oneLine($0.type) != "Void" } ?? false
  }
  return owner.as(AccessorDeclSyntax.self).map { $0.accessorSpecifier.text == "get" } ?? false
}

func isBranchValue(_ node: Syntax?) -> Bool {
  guard let parent = node?.parent else { return false }
  if parent.is(IfExprSyntax.self) { return isBranchValue(parent) }
  if parent.is(ExpressionStmtSyntax.self) { return parent.parent?.as(CodeBlockItemSyntax.self).map(isValue) ?? false }
  if let item = parent.as(CodeBlockItemSyntax.self) { return isValue(item) }
  return true
}

// MARK: Patterns and names

func binds(_ pattern: PatternSyntax) -> Bool {
  oneLine(pattern).split { !$0.isLetter }.contains { $0 == "let" || $0 == "var" }
}

/// The cases of a switch whose values another case may take: all others are needed.
func overlapping(_ node: SwitchExprSyntax) -> [SwitchCaseItemSyntax] {
  var items: [SwitchCaseItemSyntax] = []
  var takesAll = false
  for case .switchCase(let one) in node.cases {
    if case .case(let label) = one.label { items += label.caseItems } else { takesAll = true }
  }
  if takesAll || items.contains(where: { isOpen(oneLine($0.pattern)) }) { return items }
  let names = items.map { oneLine($0.pattern).prefix { $0 != "(" } }
  return zip(items, names).filter { pair in !pair.1.isEmpty && names.count { $0 == pair.1 } > 1 }.map(\.0)
}

/// Whether a pattern, or a part of a tuple of them, matches everything.
func isOpen(_ pattern: String) -> Bool {
  if pattern == "_" || pattern.hasPrefix("let ") || pattern.hasPrefix("var ") { return true }
  guard pattern.hasPrefix("("), pattern.hasSuffix(")") else { return false }
  var depth = 0
  let parts = pattern.dropFirst().dropLast().split(omittingEmptySubsequences: false) { character in
    depth += character == "(" ? 1 : character == ")" ? -1 : 0
    return depth == 0 && character == ","
  }
  return parts.contains { isOpen($0.trimmingCharacters(in: .whitespaces)) }
}

/// Whether something has another meaning in a closure of its own.
func cannotMove(_ clause: InitializerClauseSyntax) -> Bool {
  clause.tokens(viewMode: .sourceAccurate).contains { $0.text == "try" || $0.text.hasPrefix("$") }
}

func called(_ call: FunctionCallExprSyntax) -> String {
  call.calledExpression.as(MemberAccessExprSyntax.self)?.declName.baseName.text ?? oneLine(call.calledExpression)
}

/// Without `try` and a pair of parentheses around it.
func unwrapped(_ expression: ExprSyntax) -> ExprSyntax {
  if let attempt = expression.as(TryExprSyntax.self) { return unwrapped(attempt.expression) }
  if let tuple = expression.as(TupleExprSyntax.self), tuple.elements.count == 1, let only = tuple.elements.first {
    return unwrapped(only.expression)
  }
  return expression
}

func function(of node: Syntax) -> String {
  var next: Syntax? = node
  while let parent = next {
    if let function = parent.as(FunctionDeclSyntax.self) { return function.name.text }
    if parent.is(InitializerDeclSyntax.self) { return "init" }
    if parent.is(SubscriptDeclSyntax.self) { return "subscript" }
    if let binding = parent.as(PatternBindingSyntax.self), binding.accessorBlock != nil {
      return oneLine(binding.pattern)
    }
    next = parent.parent
  }
  return ""
}
