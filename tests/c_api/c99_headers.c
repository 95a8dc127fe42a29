/* The public C headers compile as C99, alone and twice, and their initializers are constants. */
#include "prenorm/prenorm.h"
#include "prenorm/norm_c.h"
#include "prenorm/prenorm.h"

const prenorm_model_options prenorm_test_model_options = PRENORM_MODEL_OPTIONS_INIT;
const prenorm_model_info prenorm_test_model_info = PRENORM_MODEL_INFO_INIT;
const prenorm_session_options prenorm_test_session_options = PRENORM_SESSION_OPTIONS_INIT;
const prenorm_session_info prenorm_test_session_info = PRENORM_SESSION_INFO_INIT;
const prenorm_generate_options prenorm_test_generate_options = PRENORM_GENERATE_OPTIONS_INIT;
const prenorm_result_info prenorm_test_result_info = PRENORM_RESULT_INFO_INIT;
const prenorm_chat_message prenorm_test_chat_message = PRENORM_CHAT_MESSAGE_INIT("user", "hello");
const prenorm_chat_options prenorm_test_chat_options = PRENORM_CHAT_OPTIONS_INIT;
const prenorm_encoder_options prenorm_test_encoder_options = PRENORM_ENCODER_OPTIONS_INIT;
const prenorm_encoder_info prenorm_test_encoder_info = PRENORM_ENCODER_INFO_INIT;
