// A web server on the loopback interface for one test, which says the bytes of every response itself.
#pragma once

#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace prenorm {

class HttpServer {
 public:
  /// From the head of a request to a whole response; the connection is closed behind it.
  using Handler = std::function<std::string(const std::string& request)>;
  explicit HttpServer(Handler handler);
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  /// "http://127.0.0.1:PORT"
  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }
  /// Heads of the requests so far.
  std::vector<std::string> requests() const;

 private:
  void Serve();
  Handler handler_;
  int socket_ = -1;
  int port_ = 0;
  mutable std::mutex mutex_;
  std::vector<std::string> requests_;
  std::thread thread_;
};

}  // namespace prenorm
