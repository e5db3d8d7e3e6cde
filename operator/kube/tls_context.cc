#include "operator/kube/tls_context.h"

#include <openssl/ssl.h>

#include <boost/asio/buffer.hpp>

namespace freezepipe::kube {

void ConfigureTls(const ClusterConfig& config, boost::asio::ssl::context& context) {
  using boost::asio::buffer;
  using boost::asio::ssl::context_base;
  SSL_CTX_set_min_proto_version(context.native_handle(), TLS1_2_VERSION);
  if (!config.ca_pem.empty()) {
    SSL_CTX_set_cert_store(context.native_handle(), X509_STORE_new());
    context.add_certificate_authority(buffer(config.ca_pem));
  }
  if (!config.client_certificate_pem.empty()) {
    context.use_certificate_chain(buffer(config.client_certificate_pem));
    context.use_private_key(buffer(config.client_key_pem), context_base::pem);
  }
}

}  // namespace freezepipe::kube
