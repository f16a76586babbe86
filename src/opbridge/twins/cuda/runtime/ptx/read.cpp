// Reads the text of an asm statement.
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include <map>

#include "ptx.h"

namespace opbridge_twin::ptx {

namespace {

bool is_word(char c) { return isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '$' || c == '%' || c == '.'; }

bool type_of(const std::string& word, Type* type) {
  static const std::map<std::string, Type> kNamed = {
      {"pred", {'p', 1}},         {"f16", {'f', 16}},          {"f16x2", {'f', 16, true}},
      {"bf16", {'h', 16}},        {"bf16x2", {'h', 16, true}}, {"tf32", {'t', 32}},
      {"u16x2", {'u', 16, true}}, {"s16x2", {'s', 16, true}},  {"f32x2", {'f', 32, true}}};
  const auto named = kNamed.find(word);
  if (named != kNamed.end()) {
    *type = named->second;
    return true;
  }
  if (word.size() < 2 || strchr("subf", word[0]) == nullptr) return false;
  char* end = nullptr;
  const unsigned long bits = strtoul(word.c_str() + 1, &end, 10);
  if (*end != 0 || (bits != 8 && bits != 16 && bits != 32 && bits != 64 && bits != 128)) return false;
  *type = {word[0], static_cast<unsigned>(bits)};
  return true;
}

std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == at) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

class Source {
 public:
  Source(const char* text, unsigned operands) : operands_(operands) {
    program_.text = text;
    program_.operands = program_.slots = operands;
    strip_comments(text);
  }

  Program read() {
    while (!at_end() && program_.error.empty()) statement();
    for (auto& [instruction, label] : branches_) {
      const auto found = labels_.find(label);
      if (found == labels_.end()) return fail("no label " + label), program_;
      program_.instructions[instruction].target = found->second;
    }
    return program_;
  }

 private:
  void strip_comments(const char* text) {
    for (const char* c = text; *c != 0; ++c) {
      if (c[0] == '/' && c[1] == '/') {
        while (c[1] != 0 && c[1] != '\n') ++c;
      } else if (c[0] == '/' && c[1] == '*') {
        const char* const end = strstr(c + 2, "*/");
        c = end == nullptr ? c + strlen(c) - 1 : end + 1;
      } else {
        rest_ += *c;
      }
    }
  }

  void fail(const std::string& why) {
    if (program_.error.empty()) program_.error = why;
  }
  void blanks() {
    while (at_ < rest_.size() && isspace(static_cast<unsigned char>(rest_[at_]))) ++at_;
  }
  bool at_end() {
    blanks();
    return at_ >= rest_.size();
  }
  char look() {
    blanks();
    return at_ < rest_.size() ? rest_[at_] : '\0';
  }
  bool take(char c) {
    if (look() != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!take(c)) fail(std::string("expected ") + c + " before \"" + rest_.substr(at_, 24) + '"');
  }
  std::string word() {
    blanks();
    const size_t first = at_;
    while (at_ < rest_.size() &&
           (is_word(rest_[at_]) || (rest_[at_] == ':' && rest_.compare(at_, 2, "::") == 0 && at_ + 2 < rest_.size() &&
                                    isalnum(static_cast<unsigned char>(rest_[at_ + 2]))))) {
      at_ += rest_[at_] == ':' ? 2 : 1;
    }
    return rest_.substr(first, at_ - first);
  }

  void statement() {
    if (take('{') || take('}') || take(';')) return;
    Instruction made;
    const size_t first = at_;
    if (take('@')) {
      made.unless = take('!');
      made.predicate = slot(word());
    }
    const std::string head = word();
    if (head.empty()) return fail(std::string("unexpected ") + look());
    if (take(':')) {
      labels_[head] = static_cast<unsigned>(program_.instructions.size());
      return;
    }
    if (head == ".reg") return declaration();
    if (head == ".pragma" || head == ".loc" || head == ".branchtargets") {
      while (!at_end() && !take(';')) ++at_;
      return;
    }
    opcode(made, head);
    if (look() != ';' && !at_end()) {
      if (made.words[0] == "bra") {
        branches_.emplace_back(program_.instructions.size(), word());
      } else {
        do made.operands.push_back(operand());
        while (take(','));
      }
    }
    made.text = rest_.substr(first, at_ - first);
    if (!at_end() && look() != '}') expect(';');
    made.execute = find_instruction(made.words);
    if (made.execute == nullptr) fail('`' + head + "`: the twin has no such instruction");
    program_.instructions.push_back(made);
  }

  void opcode(Instruction& made, const std::string& head) {
    for (const std::string& part : split(head, '.')) {
      Type type;
      if (!made.words.empty() && type_of(part, &type)) {
        made.types.push_back(type);
      } else {
        made.words.push_back(part);
      }
    }
    if (made.types.empty()) made.types.push_back({});
  }

  void declaration() {
    word();  // the type: registers hold bits
    do {
      const std::string name = word();
      if (take('<')) {
        const unsigned count = static_cast<unsigned>(strtoul(word().c_str(), nullptr, 10));
        expect('>');
        for (unsigned i = 0; i < count; ++i) names_[name + std::to_string(i)] = program_.slots++;
      } else {
        names_[name] = program_.slots++;
      }
    } while (take(','));
    expect(';');
  }

  unsigned slot(const std::string& name) {
    if (name.size() > 1 && name[0] == '%' && isdigit(static_cast<unsigned char>(name[1]))) {
      const unsigned long number = strtoul(name.c_str() + 1, nullptr, 10);
      if (number >= operands_) fail(name + " is not an operand of the statement");
      return static_cast<unsigned>(number);
    }
    const auto found = names_.find(name);
    if (found == names_.end()) {
      fail('`' + name + "` is not declared");
      return 0;
    }
    return found->second;
  }

  Operand operand() {
    Operand made;
    if (take('!')) {
      made = operand();
      made.negated = true;
      return made;
    }
    if (take('{')) {
      made.kind = Operand::Kind::vector;
      if (take('}')) return made;
      do made.parts.push_back(operand());
      while (take(','));
      expect('}');
      return made;
    }
    if (take('[')) return address();
    const bool minus = take('-');
    const std::string text = word();
    if (text.empty()) fail("an operand is missing before \"" + rest_.substr(at_, 24) + '"');
    if (isdigit(static_cast<unsigned char>(text[0]))) return immediate(text, minus);
    if (text == "_") return with_predicate(made);
    if (text == "WARP_SZ") return immediate("32", false);
    if (is_special(text)) {
      made.kind = Operand::Kind::special;
      made.name = text.substr(text.find_first_not_of('%'));
      return made;
    }
    made.kind = Operand::Kind::slot;
    made.slot = slot(text);
    return with_predicate(made);
  }

  Operand with_predicate(Operand made) {
    if (take('|')) made.predicate.push_back(operand());
    return made;
  }

  Operand address() {
    Operand made;
    made.kind = Operand::Kind::address;
    made.parts.push_back(operand());
    if (take('+')) {
      const bool minus = take('-');
      made.bits = immediate(word(), minus).bits;
    }
    expect(']');
    return made;
  }

  Operand immediate(const std::string& text, bool minus) {
    Operand made;
    made.kind = Operand::Kind::immediate;
    const char kind = text.size() > 2 && text[0] == '0' ? text[1] : '\0';
    if (kind == 'f' || kind == 'F' || kind == 'd' || kind == 'D') {
      made.bits = strtoull(text.c_str() + 2, nullptr, 16);
      made.single = kind == 'f' || kind == 'F';
    } else if (text.find('.') != std::string::npos) {
      const double value = strtod(text.c_str(), nullptr) * (minus ? -1 : 1);
      memcpy(&made.bits, &value, sizeof value);
      made.name = "double";
    } else {
      made.bits = kind == 'b' ? strtoull(text.c_str() + 2, nullptr, 2) : strtoull(text.c_str(), nullptr, 0);
      if (minus) made.bits = 0 - made.bits;
    }
    return made;
  }

  // As in `%%tid.x`, or `%tid.x` where the statement has no operands.
  static bool is_special(const std::string& name) {
    return name[0] == '%' && !(name.size() > 1 && isdigit(static_cast<unsigned char>(name[1])));
  }

  Program program_;
  unsigned operands_;
  std::string rest_;
  size_t at_ = 0;
  std::map<std::string, unsigned> names_;
  std::map<std::string, unsigned> labels_;
  std::vector<std::pair<size_t, std::string>> branches_;
};

}  // namespace

bool Instruction::has(const char* word) const {
  for (const std::string& one : words) {
    if (one == word) return true;
  }
  return false;
}

unsigned Instruction::width() const { return has("v2") ? 2 : has("v4") ? 4 : has("v8") ? 8 : 1; }

Program read(const char* text, unsigned operands) { return Source(text, operands).read(); }

}  // namespace opbridge_twin::ptx
