// Stands in for the Python interpreter in tests: asks the server for a fork of a process whose imports are done, hands
// it this process's arguments, environment, working folder and open files, and ends as the fork ends.
//
// Where no server is named, or where it answers that this start needs an interpreter of its own, becomes PYTHON itself.

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define MOST_FILES 64

extern char** environ;

static volatile pid_t fork_pid;

static void become_python(char** argv) {
  argv[0] = PYTHON;
  execv(PYTHON, argv);
  perror(PYTHON);
  _exit(127);
}

static int connect_to(const char* path) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  if (strlen(path) >= sizeof address.sun_path) return -1;
  strcpy(address.sun_path, path);
  int server = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (server >= 0 && connect(server, (struct sockaddr*)&address, sizeof address) == 0) return server;
  return -1;
}

// Lists the files this process was started with; returns how many, or -1 where there are too many to send.
static int open_files(int* files) {
  int count = 0;
  DIR* folder = opendir("/proc/self/fd");
  if (folder == NULL) return -1;
  for (struct dirent* entry; (entry = readdir(folder)) != NULL;) {
    if (entry->d_name[0] == '.' || atoi(entry->d_name) == dirfd(folder)) continue;
    if (count == MOST_FILES) {
      count = -1;
      break;
    }
    files[count++] = atoi(entry->d_name);
  }
  closedir(folder);
  return count;
}

// Writes every byte, or ends.
static void write_all(int server, const void* data, size_t size) {
  const char* next = data;
  while (size > 0) {
    ssize_t written = send(server, next, size, MSG_NOSIGNAL);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) _exit(125);
    next += written;
    size -= (size_t)written;
  }
}

static void send_files(int server, const int* files, int count) {
  char control[CMSG_SPACE(MOST_FILES * sizeof(int))] = {0};
  char byte = 'f';
  struct iovec data = {&byte, 1};
  struct msghdr message = {.msg_iov = &data, .msg_iovlen = 1};
  if (count > 0) {
    message.msg_control = control;
    message.msg_controllen = CMSG_SPACE((size_t)count * sizeof(int));
    struct cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN((size_t)count * sizeof(int));
    memcpy(CMSG_DATA(header), files, (size_t)count * sizeof(int));
  }
  if (sendmsg(server, &message, MSG_NOSIGNAL) != 1) _exit(125);
}

static void send_text(int server, const char* text) {
  uint32_t size = (uint32_t)strlen(text);
  write_all(server, &size, sizeof size);
  write_all(server, text, size);
}

static void send_texts(int server, char** texts) {
  uint32_t count = 0;
  while (texts[count] != NULL) ++count;
  write_all(server, &count, sizeof count);
  for (uint32_t i = 0; i < count; ++i) send_text(server, texts[i]);
}

static int read_number(int server) {
  int32_t number;
  for (;;) {
    ssize_t size = recv(server, &number, sizeof number, MSG_WAITALL);
    if (size < 0 && errno == EINTR) continue;
    if (size != sizeof number) _exit(125);
    return number;
  }
}

static void forward(int signal_number) {
  if (fork_pid > 0) kill(fork_pid, signal_number);
}

static void forward_signals(void) {
  static const int forwarded[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGALRM};
  for (size_t i = 0; i < sizeof forwarded / sizeof *forwarded; ++i) {
    struct sigaction action = {.sa_handler = forward};
    struct sigaction before;
    sigaction(forwarded[i], NULL, &before);
    if (before.sa_handler == SIG_DFL) sigaction(forwarded[i], &action, NULL);
  }
}

int main(int argc, char** argv) {
  (void)argc;
  const char* path = getenv("OPBRIDGE_TESTS_FORKS");
  char folder[4096];
  int files[MOST_FILES];
  int count = open_files(files);
  int server = path == NULL || count < 0 || getcwd(folder, sizeof folder) == NULL ? -1 : connect_to(path);
  if (server < 0) become_python(argv);
  send_files(server, files, count);
  uint32_t number = (uint32_t)count;
  write_all(server, &number, sizeof number);
  write_all(server, files, (size_t)count * sizeof(int));
  send_text(server, folder);
  send_texts(server, argv + 1);
  send_texts(server, environ);
  int pid = read_number(server);
  if (pid == 0) become_python(argv);
  fork_pid = pid;
  forward_signals();
  // The fork holds the files; a reader of its pipe sees the end when the fork ends, not when this process does.
  for (int i = 0; i < count; ++i) close(files[i]);
  int status = read_number(server);
  if (status >= 0) _exit(status);
  prctl(PR_SET_DUMPABLE, 0);  // one core file, the fork's, is enough
  signal(-status, SIG_DFL);
  kill(getpid(), -status);
  _exit(128 - status);
}
