#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "daemon/host/launch_observer.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/host/scratch_root.h"

namespace clusterd {
namespace {

using ::testing::ElementsAre;

std::string Text(const EnvironmentVariable& each) {
  return absl::StrCat(
      each.line(), " ", each.name(),
      each.computed() ? "?" : absl::StrCat("=", each.value()),
      each.conditional() ? " perhaps" : "", each.carriage_return() ? " CR" : "",
      each.effect() == EnvironmentVariable::NOT_EXPORTED ? " not exported" : "",
      each.effect() == EnvironmentVariable::NOT_READ ? " not read" : "",
      each.effect() == EnvironmentVariable::AFTER_MARK ? " after mark" : "",
      each.effect() == EnvironmentVariable::SOURCED ? " read by logins" : "",
      each.effect() == EnvironmentVariable::OTHER_FILE ? " elsewhere" : "",
      each.effect() == EnvironmentVariable::UNREADABLE_FILE ? " unreadable"
                                                            : "",
      each.cut().empty() ? "" : absl::StrCat(" without '", each.cut(), "'"));
}

std::vector<std::string> Texts(const EnvironmentFact::Variables& variables) {
  std::vector<std::string> texts;
  for (const EnvironmentVariable& each : variables.variables()) {
    texts.push_back(Text(each));
  }
  return texts;
}

std::vector<std::string> OfShell(const std::string& text) {
  EnvironmentFact::Variables variables;
  AddLoginFile("/etc/profile.d/a.sh", text, &variables);
  return Texts(variables);
}

std::vector<std::string> OfPam(const std::string& text) {
  EnvironmentFact::Variables variables;
  AddLoginFile("/etc/environment", text, &variables);
  return Texts(variables);
}

TEST(AddLoginFileTest, ReadsWhatIsPlainAndNamesWhatAShellWorksOut) {
  EXPECT_THAT(
      OfShell("PATH=/bin\n"
              "export HCCL_SOCKET_IFNAME=\"=eth0\"  # ours\n"
              "export HCCL_WHITELIST_FILE='/etc/a b'\nexport HCCL_IF_IP=\n"
              "# export HCCL_RDMA_TC=1\nexport HCCL_RDMA_TC=$X\n"
              "export HCCL_RDMA_SL=`x`\nexport HCCL_EXEC_TIMEOUT=1; rm x\n"
              "echo $HCCL_ALGO  # HCCL_ALGO=1\n: ${HCCL_BUFFSIZE:=200}\n"
              "export HCCL_IF_IP=$(hostname -i; true) \"HCCL_RDMA_TC=$X\"\n"
              "unset HCCL_ALGO HCCL_OP_RETRY_ENABLE\n"
              "eval \"export HCCL_BUFFSIZE=1\"\n"),
      ElementsAre(
          "2 HCCL_SOCKET_IFNAME==eth0", "3 HCCL_WHITELIST_FILE=/etc/a b",
          "4 HCCL_IF_IP=", "6 HCCL_RDMA_TC?", "7 HCCL_RDMA_SL?",
          "8 HCCL_EXEC_TIMEOUT=1", "10 HCCL_BUFFSIZE?", "11 HCCL_IF_IP?",
          "11 HCCL_RDMA_TC?",
          "12 HCCL_ALGO=", "12 HCCL_OP_RETRY_ENABLE=", "13 HCCL_BUFFSIZE?"));
}

TEST(AddLoginFileTest, ReadsEverySpellingOfAShell) {
  EXPECT_THAT(
      OfShell("  export HCCL_BUFFSIZE=1\n\texport\tHCCL_RDMA_SL=2\n"
              "declare -x HCCL_RDMA_TC=4\ntypeset -rx HCCL_ALGO='a b'\n"
              "export MASTER_PORT=1 WORLD_SIZE=8 NNODES=\"2\"\n"
              "export HCCL_IF_\\\nIP=10.0.0.1\nset -a\nRANK_ID=3\n"),
      ElementsAre("1 HCCL_BUFFSIZE=1", "2 HCCL_RDMA_SL=2", "3 HCCL_RDMA_TC=4",
                  "4 HCCL_ALGO=a b", "5 MASTER_PORT=1", "5 WORLD_SIZE=8",
                  "5 NNODES=2", "6 HCCL_IF_IP=10.0.0.1", "9 RANK_ID=3"));
}

TEST(AddLoginFileTest, ACommentDoesNotGoOnInTheNextLine) {
  EXPECT_THAT(OfShell("# ours \\\nexport HCCL_BUFFSIZE=1\n"),
              ElementsAre("2 HCCL_BUFFSIZE=1"));
  EXPECT_THAT(OfShell("export HCCL_BUFFSIZE=200 # tuned \\\n"
                      "export HCCL_RDMA_TIMEOUT=99\n"),
              ElementsAre("1 HCCL_BUFFSIZE=200", "2 HCCL_RDMA_TIMEOUT=99"));
}

TEST(AddLoginFileTest, LinesOfAHereDocumentAreNoCommands) {
  EXPECT_THAT(OfShell("cat <<EOF\nexport HCCL_RDMA_TIMEOUT=99\nif it's\nEOF\n"
                      "export RANK_ID=1\n"
                      "cat <<-'A' << \"B\" >/dev/null\n\tif\n\tA\n{\n A\nB\n"
                      "export RANK_ID=2\n"
                      "export HCCL_IF_IP=$(cat <<EOF\nif )\nEOF\n)\n"
                      "export RANK_ID=3\ncat <<<EOF\nexport RANK_ID=4\n"
                      "echo \"<<EOF\" # <<EOF\nexport RANK_ID=5\n"
                      "cat <<EOF | grep a &&\nif\nEOF\nexport RANK_ID=6\n"),
              ElementsAre("5 RANK_ID=1", "12 RANK_ID=2", "13 HCCL_IF_IP?",
                          "17 RANK_ID=3", "19 RANK_ID=4", "21 RANK_ID=5",
                          "25 RANK_ID=6 perhaps"));
}

TEST(AddLoginFileTest, ATextOfSeveralLinesIsOneValue) {
  EXPECT_THAT(
      OfShell("export HCCL_DFS_CONFIG=\"x\nexport HCCL_RDMA_TIMEOUT=99\n\"\n"
              "export RANK_ID=1\nA='\nexport RANK_ID=2'\n"
              "HCCL_IF_IP=\"$(hostname -i |\n  awk '{print \"$1)\"}')\"\n"
              "export HCCL_IF_IP\nX=\"${Y:-it's}\"\nexport RANK_ID=3\n"),
      ElementsAre("1 HCCL_DFS_CONFIG=x\\nexport HCCL_RDMA_TIMEOUT=99\\n",
                  "4 RANK_ID=1", "8 HCCL_IF_IP?", "11 RANK_ID=3"));
}

// A shell refuses the rest of the file; a misreading must not hide values.
TEST(AddLoginFileTest, WhatFollowsAnOpenQuoteIsNotSure) {
  for (const char* open : {"echo don't", "cat <<EOF", "X=\"$(a"}) {
    EXPECT_THAT(OfShell(absl::StrCat("export RANK_ID=1\n", open,
                                     "\nexport RANK_ID=2\nreturn\n"
                                     "export RANK_ID=3\n")),
                ElementsAre("1 RANK_ID=1", "3 RANK_ID=2 perhaps",
                            "5 RANK_ID=3 perhaps"))
        << open;
  }
}

TEST(AddLoginFileTest, NothingFollowsAReturn) {
  for (const char* end : {"return 0", "exit", "true && return", "return; a"}) {
    EXPECT_THAT(OfShell(absl::StrCat("export RANK_ID=1\n", end,
                                     "\nexport HCCL_BUFFSIZE=0\n")),
                ElementsAre("1 RANK_ID=1"))
        << end;
  }
  for (const char* end :
       {"[ -z \"$PS1\" ] && return", "[[ $- == *i* ]] || return 0",
        "if [ -n \"$X\" ]; then exit; fi",
        "case $- in *i*) ;; *) return;; esac"}) {
    EXPECT_THAT(OfShell(absl::StrCat(end, "\nexport HCCL_BUFFSIZE=0\n")),
                ElementsAre("2 HCCL_BUFFSIZE=0 perhaps"))
        << end;
  }
  for (const char* end :
       {"f() { return 0; }", "function f { return 0; }", "(exit 1)",
        "(cd /x; exit 1)", "function f\n{\n  exit\n}"}) {
    const auto lines = OfShell(absl::StrCat(end, "; export RANK_ID=1\n"));
    ASSERT_EQ(lines.size(), 1u) << end;
    EXPECT_THAT(lines[0], ::testing::EndsWith("RANK_ID=1")) << end;
  }
}

TEST(AddLoginFileTest, WhatFollowsAnExportIsSure) {
  EXPECT_THAT(OfShell("export A=1 && export HCCL_BUFFSIZE=0\n"
                      "A=1 && true && export RANK_ID=1\n"
                      "A=$(x) && export RANK_ID=2\n"
                      "[ -d /x ] && export A=1 && export RANK_ID=3\n"
                      "export A=1 || export RANK_ID=4\n"
                      "export A = 1 && export RANK_ID=5\n"
                      "export A=1 &&\n  export RANK_ID=6\n"
                      "[ -d /x ] && # ours\n\n  export RANK_ID=7\n"),
              ElementsAre("1 HCCL_BUFFSIZE=0", "2 RANK_ID=1",
                          "3 RANK_ID=2 perhaps", "4 RANK_ID=3 perhaps",
                          "5 RANK_ID=4 perhaps", "6 RANK_ID=5 perhaps",
                          "8 RANK_ID=6", "11 RANK_ID=7 perhaps"));
}

TEST(AddLoginFileTest, BlocksEndWhereTheyEnd) {
  EXPECT_THAT(
      OfShell("if true; then a=(\n  'b)'\n  )\n  export RANK_ID=1; a=()\nfi\n"
              "(cd /x; ls)\nexport RANK_ID=2\n"
              "case $x in a) export RANK_ID=3;; b) (true) ;; esac\n"
              "export RANK_ID=4\ncommand export RANK_ID=5\n"),
      ElementsAre("4 RANK_ID=1 perhaps", "7 RANK_ID=2", "8 RANK_ID=3 perhaps",
                  "9 RANK_ID=4", "10 RANK_ID=5"));
}

// Tests UTF-8 and GBK.
TEST(AddLoginFileTest, KeepsTheLettersOfAValue) {
  EXPECT_THAT(OfShell("export MASTER_ADDR=本机IP\n"
                      "export HCCL_BUFFSIZE=“200”\n"
                      "export MASTER_ADDR=\xb1\xbe\n"),
              ElementsAre("1 MASTER_ADDR=本机IP", "2 HCCL_BUFFSIZE=“200”",
                          "3 MASTER_ADDR=\\xb1\\xbe"));
  EXPECT_THAT(OfPam("HCCL_BUFFSIZE=２００\n"),
              ElementsAre("1 HCCL_BUFFSIZE=２００"));
}

// A login only prints "level1:ring: command not found".
TEST(AddLoginFileTest, SaysWhatTheShellDropsOfAnUnquotedValue) {
  EXPECT_THAT(
      OfShell("export HCCL_ALGO=level0:NA;level1:ring\n"
              "export HCCL_ALGO=level0:NA; level1:ring;level2:ring # ours\n"
              "HCCL_ALGO=level0:NA;level1:ring\n"
              "export ASCEND_RT_VISIBLE_DEVICES=0 1 2 3\n"
              "export ASCEND_RT_VISIBLE_DEVICES=0;1;2\n"
              "export HCCL_OP_RETRY_ENABLE=L1:0, L2:0\n"
              "export HCCL_SOCKET_IFNAME=eth0 eth1\n"
              "export HCCL_SOCKET_IFNAME=eth0;eth1\n"
              "export HCCL_ALGO=not(nhr)\n"
              "export HCCL_ALGO=sequence{mesh,nhr}\n"
              "export HCCL_ALGO=sole{nhr};allreduce:sole{mesh}\n"
              "export HCCL_SOCKET_IFNAME=^docker;lo\n"
              "export HCCL_SOCKET_IFNAME=^docker lo\n"
              "export HCCL_ALGO=sole{not(nhr)}\n"),
      ElementsAre("1 HCCL_ALGO=level0:NA without ';level1:ring'",
                  "2 HCCL_ALGO=level0:NA without '; level1:ring'",
                  "3 HCCL_ALGO=level0:NA without ';level1:ring'",
                  "4 ASCEND_RT_VISIBLE_DEVICES=0 without ' 1'",
                  "5 ASCEND_RT_VISIBLE_DEVICES=0 without ';1'",
                  "6 HCCL_OP_RETRY_ENABLE=L1:0, without ' L2:0'",
                  "7 HCCL_SOCKET_IFNAME=eth0 without ' eth1'",
                  "8 HCCL_SOCKET_IFNAME=eth0 without ';eth1'",
                  "9 HCCL_ALGO=not without '(nhr)'",
                  "10 HCCL_ALGO=sequence{mesh,nhr} without '{mesh,nhr}'",
                  "11 HCCL_ALGO=sole{nhr} without "
                  "'{nhr};allreduce:sole{mesh}'",
                  "12 HCCL_SOCKET_IFNAME=^docker without ';lo'",
                  "13 HCCL_SOCKET_IFNAME=^docker without ' lo'",
                  "14 HCCL_ALGO=sole{not without '{not(nhr)}'"));
}

TEST(AddLoginFileTest, AShellOfItsOwnSetsNothing) {
  EXPECT_THAT(OfShell("export HCCL_SOCKET_IFNAME=eth0|eth1\n"
                      "export HCCL_BUFFSIZE=200&\n"
                      "export HCCL_RDMA_SL=2 | cat\n"),
              ElementsAre("1 HCCL_SOCKET_IFNAME=eth0 not read without '|eth1'",
                          "2 HCCL_BUFFSIZE=200 not read without '&'",
                          "3 HCCL_RDMA_SL=2 not read without ' | cat'"));
}

TEST(AddLoginFileTest, QuotedValuesAndOtherCommandsAreNotTruncated) {
  EXPECT_THAT(
      OfShell("export HCCL_ALGO=\"level0:NA;level1:ring\"\n"
              "export HCCL_ALGO='a|b&c d'\nexport HCCL_ALGO=a\\;b:c\n"
              "export RANK_ID=1;export NNODES=2; echo a,b\n"
              "if true; then export RANK_ID=1;fi\n"
              "export RANK_ID=1 && echo 1:2 || true\n"
              "export RANK_ID=1 >/dev/null 2>&1\n"
              "export RANK_ID=1 &>/dev/null\n"
              "export RANK_ID=1 PATH  # 2 3\n{ export RANK_ID=1; }\n"
              "export RANK_ID=1;python3 -m a; : ${B:=2}\n"
              "export HCCL_ALGO=sole{nhr}; export RANK_ID=a,b\n"
              "HCCL_ALGO=sequence{mesh,nhr}\nexport HCCL_DFS_CONFIG=a#b\n"
              "export HCCL_ALGO=\"x\n"),
      ElementsAre("1 HCCL_ALGO=level0:NA;level1:ring", "2 HCCL_ALGO=a|b&c d",
                  "3 HCCL_ALGO=a;b:c", "4 RANK_ID=1", "4 NNODES=2",
                  "5 RANK_ID=1 perhaps", "6 RANK_ID=1", "7 RANK_ID=1",
                  "8 RANK_ID=1", "9 RANK_ID=1", "10 RANK_ID=1 perhaps",
                  "11 RANK_ID=1", "12 HCCL_ALGO=sole{nhr}", "12 RANK_ID=a,b",
                  "13 HCCL_ALGO=sequence{mesh,nhr}", "14 HCCL_DFS_CONFIG=a#b",
                  "15 HCCL_ALGO?"));
}

TEST(AddLoginFileTest, SaysWhatIsNotExported) {
  EXPECT_THAT(
      OfShell("HCCL_BUFFSIZE=1\ndeclare HCCL_RDMA_SL=2\n"
              "HCCL_RDMA_TC=4; export HCCL_RDMA_TC\n"
              "export HCCL_ALGO\nHCCL_ALGO=5\n"
              "export RANK_ID=6\nRANK_ID=7\nexport -n RANK_ID\n"
              "HCCL_IF_IP=8 python train.py\n"),
      ElementsAre("1 HCCL_BUFFSIZE=1 not exported",
                  "2 HCCL_RDMA_SL=2 not exported", "3 HCCL_RDMA_TC=4",
                  "5 HCCL_ALGO=5", "6 RANK_ID=6", "7 RANK_ID=7", "8 RANK_ID="));
}

TEST(AddLoginFileTest, NamesTheFilesThatALineIncludes) {
  EXPECT_THAT(OfShell(". /opt/x/env.sh\nsource \"$HOME/a.sh\" b\n. ''\n.\n"),
              ElementsAre("1 /opt/x/env.sh= read by logins",
                          "2 $HOME/a.sh= read by logins"));
}

TEST(AddLoginFileTest, SaysWhichLinesSetNothing) {
  EXPECT_THAT(
      OfShell("setenv HCCL_BUFFSIZE 1\nHCCL_RDMA_SL = 2\n"
              "export HCCL_RDMA_TC = 4\nexport HCCL_RDMA_TIMEOUT= 17\n"
              "HCCL_ALGO: x\nexport HCCL-IF-IP=10.0.0.1\n$HCCL_IF_IP=1\n"
              "export ASCEND_RT_VISIBLE_DEVICE=0,1\n"),
      ElementsAre("1 HCCL_BUFFSIZE= not read", "2 HCCL_RDMA_SL= not read",
                  "3 HCCL_RDMA_TC= not read", "4 HCCL_RDMA_TIMEOUT= not read",
                  "5 HCCL_ALGO= not read", "6 HCCL-IF-IP= not read",
                  "7 HCCL_IF_IP= not read", "8 ASCEND_RT_VISIBLE_DEVICE=0,1"));
}

TEST(AddLoginFileTest, SaysWhichMisspeltCommandsSetNothing) {
  EXPECT_THAT(
      OfShell("exprot HCCL_RDMA_TIMEOUT=99\nExport RANK_ID=1 NNODES=$X\n"
              "set HCCL_RDMA_SL=3\nenv HCCL_ALGO=x\nset HCCL_RDMA_TC = 4\n"
              "env HCCL_ALGO=x python3 a.py\nset -- $HCCL_ALGO\n"
              "echo HCCL_ALGO=x\nexprot PATH=/bin\n"),
      ElementsAre("1 HCCL_RDMA_TIMEOUT= not read", "2 RANK_ID= not read",
                  "2 NNODES= not read", "3 HCCL_RDMA_SL= not read",
                  "4 HCCL_ALGO= not read", "5 HCCL_RDMA_TC= not read"));
}

TEST(AddLoginFileTest, KnowsWhatStandsUnderACondition) {
  EXPECT_THAT(
      OfShell("if [ -z \"$HCCL_ALGO\" ]; then\n  export HCCL_ALGO=1\nfi\n"
              "export HCCL_BUFFSIZE=2\n"
              "[ -d /x ] && export HCCL_RDMA_SL=3\n"
              "case $(uname) in\n  Linux) export HCCL_RDMA_TC=4 ;;\n"
              "  *) true ;;\nesac\n"
              "f() {\n  export MASTER_PORT=5\n}\n"
              "for i in 1 2; do export RANK_ID=6; done\n"
              "( export NNODES=7 )\nexport WORLD_SIZE=8\n"
              "if (true); then export HCCL_IF_IP=9; fi\n"
              "function g {\n  export CM_CHIEF_IP=10\n}\n"
              "if true; then unset WORLD_SIZE; fi\n"),
      ElementsAre("2 HCCL_ALGO=1 perhaps", "4 HCCL_BUFFSIZE=2",
                  "5 HCCL_RDMA_SL=3 perhaps", "7 HCCL_RDMA_TC=4 perhaps",
                  "11 MASTER_PORT=5 perhaps", "13 RANK_ID=6 perhaps",
                  "14 NNODES=7 perhaps", "15 WORLD_SIZE=8",
                  "16 HCCL_IF_IP=9 perhaps", "18 CM_CHIEF_IP=10 perhaps",
                  "20 WORLD_SIZE?"));
}

// The file was written on Windows.
TEST(AddLoginFileTest, TakesTheCarriageReturnOffAndSaysSo) {
  EXPECT_THAT(OfShell("export HCCL_BUFFSIZE=200\r\nexport RANK_ID='1'\r\n"),
              ElementsAre("1 HCCL_BUFFSIZE=200 CR", "2 RANK_ID=1 CR"));
  EXPECT_THAT(OfPam("HCCL_BUFFSIZE=200\r\nRANK_ID=1\n"),
              ElementsAre("1 HCCL_BUFFSIZE=200 CR", "2 RANK_ID=1"));
  EXPECT_THAT(OfShell("\xEF\xBB\xBF"
                      "export HCCL_BUFFSIZE=200\nexport RANK_ID=1\n"),
              ElementsAre("1 HCCL_BUFFSIZE= after mark", "2 RANK_ID=1"));
  EXPECT_THAT(OfPam("\xEF\xBB\xBF"
                    "HCCL_BUFFSIZE=200\n"),
              ElementsAre("1 HCCL_BUFFSIZE= after mark"));
}

TEST(AddLoginFileTest, ReadsEtcEnvironmentAsPamDoes) {
  EXPECT_THAT(
      OfPam("# HCCL_ALGO=1\n  HCCL_BUFFSIZE=1 # ours\nexport HCCL_RDMA_SL=2\n"
            "HCCL_IF_IP=\"10.0.0.1\"\nMASTER_ADDR=$HOST\n"
            "HCCL_RDMA_TC = 4\ndeclare -x RANK_ID=3\nsetenv NODE_RANK 3\n"
            "HCCL_SOCKET_IFNAME==enp39s0f3\n"
            "HCCL_ALGO=level0:NA;level1:ring\nHCCL_DFS_CONFIG=a#b\n"
            "HCCL_DFS_CONFIG=\"a # b\"\nHCCL_DFS_CONFIG=\"a b\" # ours\n"),
      ElementsAre("2 HCCL_BUFFSIZE=1", "3 HCCL_RDMA_SL=2",
                  "4 HCCL_IF_IP=10.0.0.1", "5 MASTER_ADDR=$HOST",
                  "6 HCCL_RDMA_TC= not read", "7 RANK_ID= not read",
                  "8 NODE_RANK= not read", "9 HCCL_SOCKET_IFNAME==enp39s0f3",
                  "10 HCCL_ALGO=level0:NA;level1:ring",
                  "11 HCCL_DFS_CONFIG=a without '#b'",
                  "12 HCCL_DFS_CONFIG=a without '# b\"'",
                  "13 HCCL_DFS_CONFIG=a b"));
}

TEST(ReadLoginEnvironmentTest, ReadsFilesInTheOrderOfALogin) {
  ScratchRoot root;
  root.Write("/etc/environment", "HCCL_IF_BASE_PORT=1\n");
  root.Write("/etc/profile.d/b.sh", "HCCL_IF_BASE_PORT=3\n");
  root.Write("/etc/profile.d/a.sh", "export HCCL_IF_BASE_PORT=2\n");
  root.Write("/etc/profile.d/c.csh", "#\nsetenv HCCL_IF_BASE_PORT 4\n");
  root.Write("/etc/profile", "# HCCL_ALGO\nPATH=/bin\nexport RANK_ID=1\n");
  root.Write("/root/.bashrc", std::string(100'000, '\n') + "NNODES=1\n");
  const auto variables = ReadLoginEnvironment(FileReader(root.path())).value();
  // An exported variable stays exported.
  EXPECT_THAT(Texts(variables),
              ElementsAre("1 HCCL_IF_BASE_PORT=1", "1 HCCL_IF_BASE_PORT=2",
                          "1 HCCL_IF_BASE_PORT=3", "3 RANK_ID= elsewhere",
                          "0 over 65536 bytes= unreadable",
                          "2 HCCL_IF_BASE_PORT= elsewhere"));
  EXPECT_EQ(variables.variables(4).file(), "/root/.bashrc");
}

}  // namespace
}  // namespace clusterd
